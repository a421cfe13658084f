package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"bandmate.dev/bandmate/internal/drawing"
)

const (
	plotRows    = 15
	plotMargin  = 6 // the labels of the y axis, a blank and the axis itself
	plotTickGap = 10
	// sparseMarks is how many columns the marks of a long line are apart.
	sparseMarks = 12
)

var (
	unicodeMarks = []rune("●■▲◆○□△◇")
	asciiMarks   = []rune("o#^*+x@%")
	curveStyles  = []sgr{"36", "33", "35", "32", "34", "31"}
)

// mark returns the symbol and color of curve i; after eight curves symbols
// repeat, with other colors.
func (o Options) mark(i int) (rune, sgr) {
	marks := asciiMarks
	if o.Unicode {
		marks = unicodeMarks
	}
	return marks[i%len(marks)], curveStyles[i%len(curveStyles)]
}

// write draws the chart in characters, 21 lines or a few more when the legend is
// long.
func (c chart) write(w io.Writer, o Options) error {
	var b strings.Builder
	c.writeTitle(&b, o)
	columns := o.width() - plotMargin
	x := c.x.Between(0, float64(columns*dotsAcross-1), max(1, columns/plotTickGap))
	y := c.y.Between(0, plotRows*dotsDown-1, 0)
	plot := newCanvas(columns, plotRows)
	for i, line := range c.lines {
		line.draw(plot, x, y, o, i)
	}
	fmt.Fprintln(&b, o.truncate(o.text(c.yTitle), o.width()))
	c.writeRows(&b, o, plot, y)
	c.writeXAxis(&b, o, x, columns)
	c.writeLegend(&b, o)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c chart) writeTitle(b *strings.Builder, o Options) {
	if c.title != "" {
		fmt.Fprintln(b, o.paint(o.truncate(o.text(c.title), o.width()), bold))
	}
}

// writeEmpty says that there is nothing to draw.
func (c chart) writeEmpty(w io.Writer, o Options) error {
	var b strings.Builder
	c.writeTitle(&b, o)
	fmt.Fprintln(&b, "No points to draw.")
	_, err := io.WriteString(w, b.String())
	return err
}

// dot returns the column of dots of a value.
func dot(x drawing.Scale, v float64) int { return int(math.Round(x.At(v))) }

// upsideDown returns the row of dots of a value, from the top.
func upsideDown(y drawing.Scale, v float64) int { return int(y.To) - dot(y, v) }

func (l chartLine) draw(on *canvas, x, y drawing.Scale, o Options, index int) {
	mark, style := o.mark(index)
	place := func(p chartPoint) (int, int) { return dot(x, p.x), upsideDown(y, p.y) }
	for i, point := range l.points {
		x1, y1 := place(point)
		x0, y0 := x1, y1
		if i > 0 {
			x0, y0 = place(l.points[i-1])
		}
		on.line(x0, y0, x1, y1, style)
	}
	next := 0
	for _, point := range l.points {
		column, row := place(point)
		if point.bare || l.sparse && column < next {
			continue
		}
		on.mark(column, row, mark, style)
		next = column + sparseMarks*dotsAcross
	}
}

// writeRows writes the canvas with the y axis at its left.
func (c chart) writeRows(b *strings.Builder, o Options, plot *canvas, y drawing.Scale) {
	labels := map[int]string{}
	for _, tick := range y.Ticks() {
		labels[upsideDown(y, tick)/dotsDown] = y.Text(tick)
	}
	for row := range plot.rows {
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
		fmt.Fprintf(b, "%s %s%s\n", padLeft(label, plotMargin-2), o.paint(line, faint), plot.row(row, o))
	}
}

// writeXAxis writes the x axis, its labels and its title.
func (c chart) writeXAxis(b *strings.Builder, o Options, x drawing.Scale, columns int) {
	corner, line, tickMark := '+', '-', '+'
	if o.Unicode {
		corner, line, tickMark = '└', '─', '┬'
	}
	ruler := []rune(strings.Repeat(string(line), columns))
	labels := []rune(strings.Repeat(" ", columns+plotMargin))
	for _, tick := range x.Ticks() {
		column := dot(x, tick) / dotsAcross
		ruler[column] = tickMark
		label := []rune(x.Text(tick))
		copy(labels[min(plotMargin+column-len(label)/2, len(labels)-len(label)):], label)
	}
	indent := strings.Repeat(" ", plotMargin-1)
	fmt.Fprintln(b, indent+o.paint(string(corner)+string(ruler), faint))
	fmt.Fprintln(b, strings.TrimRight(string(labels), " "))
	title := o.truncate(o.text(c.xTitle), o.width()-plotMargin)
	fmt.Fprintln(b, strings.Repeat(" ", plotMargin+max(0, columns-displayWidth(title))/2)+title)
}

func (c chart) writeLegend(b *strings.Builder, o Options) {
	labels := make([]string, len(c.lines))
	for i, line := range c.lines {
		labels[i] = o.truncate(o.text(line.label), o.width()-plotMargin-2)
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
