package report

import (
	"fmt"
	"io"
	"strings"
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
// come again, with other colors.
func (o Options) mark(i int) (rune, sgr) {
	marks := asciiMarks
	if o.Unicode {
		marks = unicodeMarks
	}
	return marks[i%len(marks)], curveStyles[i%len(curveStyles)]
}

// write draws the chart in characters, 21 lines or a few more when the legend is
// long.
func (p chart) write(w io.Writer, o Options) error {
	var b strings.Builder
	p.writeTitle(&b, o)
	columns := o.width() - plotMargin
	x := axis{low: p.x.low, high: p.x.high, last: columns*dotsAcross - 1}
	y := axis{low: p.y.low, high: p.y.high, last: plotRows*dotsDown - 1}
	c := newCanvas(columns, plotRows)
	for i, line := range p.lines {
		line.draw(c, x, y, o, i)
	}
	fmt.Fprintln(&b, o.truncate(o.text(p.yTitle), o.width()))
	p.writeRows(&b, o, c, y)
	p.writeXAxis(&b, o, x, columns)
	p.writeLegend(&b, o)
	_, err := io.WriteString(w, b.String())
	return err
}

func (p chart) writeTitle(b *strings.Builder, o Options) {
	if p.title != "" {
		fmt.Fprintln(b, o.paint(o.truncate(o.text(p.title), o.width()), bold))
	}
}

// writeEmpty says that there is nothing to draw.
func (p chart) writeEmpty(w io.Writer, o Options) error {
	var b strings.Builder
	p.writeTitle(&b, o)
	fmt.Fprintln(&b, "No points to draw.")
	_, err := io.WriteString(w, b.String())
	return err
}

func (l chartLine) draw(on *canvas, x, y axis, o Options, index int) {
	mark, style := o.mark(index)
	dot := func(p chartPoint) (int, int) { return x.place(p.x), y.last - y.place(p.y) }
	for i, point := range l.points {
		x1, y1 := dot(point)
		x0, y0 := x1, y1
		if i > 0 {
			x0, y0 = dot(l.points[i-1])
		}
		on.line(x0, y0, x1, y1, style)
	}
	next := 0
	for _, point := range l.points {
		column, row := dot(point)
		if point.bare || l.sparse && column < next {
			continue
		}
		on.mark(column, row, mark, style)
		next = column + sparseMarks*dotsAcross
	}
}

// writeRows writes the canvas with the y axis at its left.
func (p chart) writeRows(b *strings.Builder, o Options, c *canvas, y axis) {
	labels := map[int]string{}
	for _, tick := range y.ticks(p.y.step) {
		labels[(y.last-y.place(tick))/dotsDown] = p.y.text(tick)
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

// writeXAxis writes the x axis, its labels and its title.
func (p chart) writeXAxis(b *strings.Builder, o Options, x axis, columns int) {
	corner, line, tickMark := '+', '-', '+'
	if o.Unicode {
		corner, line, tickMark = '└', '─', '┬'
	}
	ruler := []rune(strings.Repeat(string(line), columns))
	labels := []rune(strings.Repeat(" ", columns+plotMargin))
	step := p.x.step
	if step == 0 {
		step = niceStep(x.high-x.low, max(1, columns/plotTickGap))
	}
	for _, tick := range x.ticks(step) {
		column := x.place(tick) / dotsAcross
		ruler[column] = tickMark
		label := []rune(p.x.text(tick))
		copy(labels[min(plotMargin+column-len(label)/2, len(labels)-len(label)):], label)
	}
	indent := strings.Repeat(" ", plotMargin-1)
	fmt.Fprintln(b, indent+o.paint(string(corner)+string(ruler), faint))
	fmt.Fprintln(b, strings.TrimRight(string(labels), " "))
	title := o.truncate(o.text(p.xTitle), o.width()-plotMargin)
	fmt.Fprintln(b, strings.Repeat(" ", plotMargin+max(0, columns-displayWidth(title))/2)+title)
}

func (p chart) writeLegend(b *strings.Builder, o Options) {
	labels := make([]string, len(p.lines))
	for i, line := range p.lines {
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
