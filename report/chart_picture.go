package report

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/internal/drawing"
)

// The measures of a chart in a file, in pixels.
const (
	chartWidth      = 720.0
	chartPlotHeight = 300.0
	chartLeft       = 58.0
	chartRight      = 24.0
	chartTop        = 62.0
	chartBottom     = chartTop + chartPlotHeight
	lineHeight      = 20.0
	xLabels         = 8
	sparseGap       = 80.0
)

// picture draws the chart for a file.
func (c chart) picture() *drawing.Picture {
	p := &drawing.Picture{Width: chartWidth, Title: c.title, Description: c.describe()}
	f := drawing.Frame{
		Title: c.title, XTitle: c.xTitle, YTitle: c.yTitle,
		X: c.x.Between(chartLeft, chartWidth-chartRight, xLabels), Y: c.y.Between(chartBottom, chartTop, 0),
	}
	p.Axes(f)
	for i, line := range c.lines {
		line.addRibbon(p, i, f)
	}
	for i, line := range c.lines {
		line.addTo(p, i, f)
	}
	bottom := c.addLegend(p, chartBottom+68)
	for _, note := range c.notes {
		p.Text(drawing.Label{At: drawing.At(chartLeft, bottom), Text: note, Ink: drawing.SoftInk})
		bottom += lineHeight
	}
	p.Height = bottom
	return p
}

// describe says in words where the lines end.
func (c chart) describe() string {
	var lines []string
	for _, line := range c.lines {
		if n := len(line.points); n > 0 {
			last := line.points[n-1]
			lines = append(lines, fmt.Sprintf("%s ends at %s, %s", line.label, c.x.Text(last.x), c.y.Text(last.y)))
		}
	}
	if len(lines) == 0 {
		return "No points to draw."
	}
	return fmt.Sprintf("%s against %s: %s.", c.yTitle, c.xTitle, strings.Join(lines, "; "))
}

func (l chartLine) addTo(p *drawing.Picture, index int, f drawing.Frame) {
	if len(l.points) == 0 {
		return
	}
	ink := drawing.Series(index)
	var places []drawing.Point
	for _, point := range l.points {
		at := f.Point(point.x, point.y)
		places = append(places, at)
		if point.spread > 0 {
			top, bottom := max(f.Y.At(point.y+point.spread), chartTop), min(f.Y.At(point.y-point.spread), chartBottom)
			p.Whisker(drawing.Stroke{Ink: ink, Width: 1}, drawing.At(at.X, top), drawing.At(at.X, bottom))
		}
	}
	switch {
	case len(l.fit) > 0:
		p.Line(l.stroke(index), withinPlot(l.raised(0, f))...)
	case l.thin:
		p.Line(drawing.Stroke{Ink: ink, Width: 1}, places...)
	default:
		p.Line(drawing.Stroke{Ink: ink, Width: 2}, places...)
	}
	next := 0.0
	for i, point := range l.points {
		at := places[i]
		if point.bare || l.sparse && at.X < next {
			continue
		}
		p.Mark(at, index, point.hollow)
		next = at.X + sparseGap
	}
}

// stroke returns the look of a fitted line. Dashes tell lines apart without
// color; they repeat after four lines.
func (l chartLine) stroke(index int) drawing.Stroke {
	dashes := [][]float64{nil, {8, 6}, {1, 5}, {8, 6, 1, 6}}[index%4]
	return drawing.Stroke{Ink: drawing.Series(index), Width: 2, Dashes: dashes}
}

// ribbonOpacity keeps two ribbons apart where they overlap, and text below them
// readable.
const ribbonOpacity = 0.14

// addRibbon draws the interval of a fitted line, within the plot.
func (l chartLine) addRibbon(p *drawing.Picture, index int, f drawing.Frame) {
	if len(l.fit) < 2 || !(l.fitHalf > 0) {
		return
	}
	high, low := withinPlot(l.raised(l.fitHalf, f)), withinPlot(l.raised(-l.fitHalf, f))
	slices.Reverse(low)
	p.Polygon(drawing.Series(index), ribbonOpacity, append(high, low...)...)
}

// raised returns the places of the fitted line, all but the first one raised.
func (l chartLine) raised(by float64, f drawing.Frame) []drawing.Point {
	places := make([]drawing.Point, len(l.fit))
	for i, point := range l.fit {
		y := point.y
		if i > 0 {
			y += by
		}
		places[i] = f.Point(point.x, y)
	}
	return places
}

// withinPlot holds a line at the upper and the lower edge of the plot where it
// leaves it.
func withinPlot(line []drawing.Point) []drawing.Point {
	var held []drawing.Point
	for i, at := range line {
		if i > 0 {
			held = append(held, crossings(line[i-1], at)...)
		}
		held = append(held, drawing.At(at.X, min(max(at.Y, chartTop), chartBottom)))
	}
	return held
}

// crossings returns where a straight line passes an edge of the plot, in order.
func crossings(from, to drawing.Point) []drawing.Point {
	var found []drawing.Point
	for _, edge := range []float64{chartTop, chartBottom} {
		if (from.Y < edge) != (to.Y < edge) && from.Y != edge && to.Y != edge {
			found = append(found, drawing.At(from.X+(edge-from.Y)/(to.Y-from.Y)*(to.X-from.X), edge))
		}
	}
	if to.Y < from.Y {
		slices.Reverse(found)
	}
	return found
}

// addLegend draws the names of the lines in as many rows as they need, the first
// at y, and returns where the next row begins.
func (c chart) addLegend(p *drawing.Picture, y float64) float64 {
	const gap = 24.0
	x := chartLeft
	for i, line := range c.lines {
		markSpace := 16.0
		if len(line.fit) > 0 { // for a piece of the line
			markSpace = 44
		}
		text := drawing.Fit(line.label, drawing.TextSize, chartWidth-chartLeft-chartRight-markSpace)
		width := markSpace + drawing.Width(text, drawing.TextSize, false)
		if x > chartLeft && x+width > chartWidth-chartRight {
			x, y = chartLeft, y+lineHeight
		}
		middle := drawing.At(x+(markSpace-7)/2, y-drawing.TextSize/3)
		if len(line.fit) > 0 {
			p.Line(line.stroke(i), drawing.At(x, middle.Y), drawing.At(x+markSpace-8, middle.Y))
		}
		p.Mark(middle, i, false)
		p.Text(drawing.Label{At: drawing.At(x+markSpace, y), Text: text})
		x += width + gap
	}
	return y + lineHeight
}
