package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/units"
)

// CurvePlot is the curve family of one application: normalized performance
// against the bandwidth the interferer reaches alone, one curve per read share
// and access pattern.
type CurvePlot struct {
	// Title is usually the application's name.
	Title  string
	Curves []Curve
}

// Curve is one line of a CurvePlot. Drawing begins at performance 1 without
// pressure, as every sensitivity curve does.
type Curve struct {
	// ReadShare is the interferer's, 0 to 1.
	ReadShare units.ReadShare
	// Pattern is the interferer's order of lines; empty for sequential.
	Pattern string
	// Points are ordered by bandwidth. Points that are not valid (NaN,
	// infinite or negative) are left out.
	Points []CurvePoint
}

// CurvePoint is one measured point of a Curve.
type CurvePoint struct {
	// Bandwidth is what the interferer reaches alone, 0 or more.
	Bandwidth units.Bandwidth
	// Performance is that of the application beside it, 0 or more.
	Performance units.NormalizedPerformance
}

func (p CurvePoint) known() bool {
	return p.Bandwidth.Valid() && p.Performance >= 0 && !math.IsInf(float64(p.Performance), 0)
}

const (
	plotRows    = 15
	plotMargin  = 6 // the labels of the y axis, a blank and the axis itself
	plotTickGap = 10
	// minSpan is the least range of performance shown, so that the noise of
	// an application that does not suffer stays small.
	minSpan = 0.2
)

var (
	unicodeMarks = []rune("●■▲◆○□△◇")
	asciiMarks   = []rune("o#^*+x@%")
	curveStyles  = []sgr{"36", "33", "35", "32", "34", "31"}
)

// mark returns the symbol and colour of curve i; after eight curves symbols
// come again, with other colours.
func (o Options) mark(i int) (rune, sgr) {
	marks := asciiMarks
	if o.Unicode {
		marks = unicodeMarks
	}
	return marks[i%len(marks)], curveStyles[i%len(curveStyles)]
}

// Write draws the plot, 21 lines or a few more when the legend is long. Where
// curves meet, the one listed last shows.
func (p *CurvePlot) Write(w io.Writer, o Options) error {
	var b strings.Builder
	if p.Title != "" {
		fmt.Fprintln(&b, o.paint(o.truncate(o.text(p.Title), o.width()), bold))
	}
	highest, low, high, found := p.ranges()
	if !found {
		fmt.Fprintln(&b, "No points to draw.")
		_, err := io.WriteString(w, b.String())
		return err
	}
	columns := o.width() - plotMargin
	step := niceStep(high-low, 5)
	x := axis{low: 0, high: float64(highest), last: columns*dotsAcross - 1}
	y := axis{
		low:  math.Floor(low/step+1e-9) * step,
		high: math.Ceil(high/step-1e-9) * step,
		last: plotRows*dotsDown - 1,
	}
	c := newCanvas(columns, plotRows)
	for i, curve := range p.Curves {
		curve.draw(c, x, y, o, i)
	}
	fmt.Fprintln(&b, "normalized performance")
	writeRows(&b, o, c, y, step)
	writeBandwidthAxis(&b, o, x, columns)
	p.writeLegend(&b, o)
	_, err := io.WriteString(w, b.String())
	return err
}

// ranges returns the highest bandwidth and the range of performance to show.
func (p *CurvePlot) ranges() (highest units.Bandwidth, low, high float64, found bool) {
	low, high = 1, 1
	for _, curve := range p.Curves {
		for _, point := range curve.Points {
			if !point.known() {
				continue
			}
			found = true
			highest = max(highest, point.Bandwidth)
			low = min(low, float64(point.Performance))
			high = max(high, float64(point.Performance))
		}
	}
	if highest == 0 {
		highest = units.GigabytePerSecond
	}
	return highest, min(low, high-minSpan), high, found
}

func (c Curve) draw(on *canvas, x, y axis, o Options, index int) {
	mark, style := o.mark(index)
	dot := func(p CurvePoint) (int, int) {
		return x.place(float64(p.Bandwidth)), y.last - y.place(float64(p.Performance))
	}
	previous := CurvePoint{Bandwidth: 0, Performance: 1}
	for _, point := range c.Points {
		if point.known() {
			x0, y0 := dot(previous)
			x1, y1 := dot(point)
			on.line(x0, y0, x1, y1, style)
			previous = point
		}
	}
	for _, point := range c.Points {
		if point.known() {
			column, row := dot(point)
			on.mark(column, row, mark, style)
		}
	}
}

// writeRows writes the canvas with the y axis at its left.
func writeRows(b *strings.Builder, o Options, c *canvas, y axis, step float64) {
	labels := map[int]string{}
	for _, tick := range y.ticks(step) {
		labels[(y.last-y.place(tick))/dotsDown] = strconv.FormatFloat(tick, 'f', 2, 64)
	}
	for row := range c.rows {
		label, isTick := labels[row]
		line := "|"
		switch {
		case o.Unicode && isTick:
			line = "┤"
		case o.Unicode:
			line = "│"
		case isTick:
			line = "+"
		}
		fmt.Fprintf(b, "%s %s%s\n", padLeft(label, plotMargin-2), o.paint(line, faint), c.row(row, o))
	}
}

// writeBandwidthAxis writes the x axis, its labels and its title.
func writeBandwidthAxis(b *strings.Builder, o Options, x axis, columns int) {
	corner, line, tickMark := '+', '-', '+'
	if o.Unicode {
		corner, line, tickMark = '└', '─', '┬'
	}
	unit, name := bandwidthUnit(units.Bandwidth(x.high))
	scaled := axis{low: 0, high: x.high / float64(unit), last: x.last}

	ruler := []rune(strings.Repeat(string(line), columns))
	labels := []rune(strings.Repeat(" ", columns+plotMargin))
	step := niceStep(scaled.high, max(1, columns/plotTickGap))
	for _, tick := range scaled.ticks(step) {
		column := scaled.place(tick) / dotsAcross
		ruler[column] = tickMark
		label := []rune(strconv.FormatFloat(tick, 'g', 4, 64))
		copy(labels[min(plotMargin+column-len(label)/2, len(labels)-len(label)):], label)
	}
	indent := strings.Repeat(" ", plotMargin-1)
	fmt.Fprintln(b, indent+o.paint(string(corner)+string(ruler), faint))
	fmt.Fprintln(b, strings.TrimRight(string(labels), " "))
	title := "bandwidth of the interferer alone, " + name
	fmt.Fprintln(b, strings.Repeat(" ", plotMargin+max(0, columns-len(title))/2)+title)
}

// bandwidthUnit chooses the unit in which highest is at least 1.
func bandwidthUnit(highest units.Bandwidth) (units.Bandwidth, string) {
	switch {
	case highest >= units.GigabytePerSecond:
		return units.GigabytePerSecond, "GB/s"
	case highest >= units.MegabytePerSecond:
		return units.MegabytePerSecond, "MB/s"
	case highest >= units.KilobytePerSecond:
		return units.KilobytePerSecond, "kB/s"
	default:
		return units.BytePerSecond, "B/s"
	}
}

func (p *CurvePlot) writeLegend(b *strings.Builder, o Options) {
	labels := make([]string, len(p.Curves))
	for i, curve := range p.Curves {
		labels[i] = ReadShare(curve.ReadShare)
		if curve.Pattern != "" && curve.Pattern != "sequential" {
			labels[i] += ", " + curve.Pattern
		}
		labels[i] = o.truncate(o.text(labels[i]), o.width()-plotMargin-2)
	}
	const gap, markWidth = 3, 2
	for _, line := range wrap(labels, gap+markWidth, o.width()-plotMargin-markWidth) {
		b.WriteString(strings.Repeat(" ", plotMargin))
		for at, i := range line {
			if at > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			mark, style := o.mark(i)
			b.WriteString(o.paint(string(mark), style) + " " + labels[i])
		}
		b.WriteByte('\n')
	}
}
