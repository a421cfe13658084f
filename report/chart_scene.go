package report

import (
	"fmt"
	"slices"
	"strings"
)

// The measures of a chart as a scene, in pixels.
const (
	chartWidth      = 720.0
	chartPlotHeight = 300.0
	chartLeft       = 58.0
	chartRight      = 24.0
	chartTop        = 62.0
	textSize        = 12.0
	titleSize       = 16.0
	lineHeight      = 20.0
	tickGap         = 6.0
	xLabels         = 8
	sparseGap       = 80.0
)

// scene draws the chart for a file.
func (p chart) scene() *scene {
	s := &scene{width: chartWidth, title: p.title, description: p.describe()}
	s.add(label{at: place{chartLeft, 26}, text: fitText(p.title, titleSize, chartWidth-chartLeft-chartRight), size: titleSize, bold: true})
	s.add(label{at: place{chartLeft, 48}, text: p.yTitle, size: textSize, ink: inkSoft})
	toX := func(v float64) float64 {
		return chartLeft + (v-p.x.low)/(p.x.high-p.x.low)*(chartWidth-chartLeft-chartRight)
	}
	toY := func(v float64) float64 {
		return chartTop + (p.y.high-v)/(p.y.high-p.y.low)*chartPlotHeight
	}
	p.addAxes(s, toX, toY)
	for i, line := range p.lines {
		line.addRibbon(s, i, toX, toY)
	}
	for i, line := range p.lines {
		line.addTo(s, i, toX, toY)
	}
	bottom := p.addLegend(s, chartTop+chartPlotHeight+68)
	for _, note := range p.notes {
		s.add(label{at: place{chartLeft, bottom}, text: note, size: textSize, ink: inkSoft})
		bottom += lineHeight
	}
	s.height = bottom
	return s
}

// describe says in words what the lines are.
func (p chart) describe() string {
	var lines []string
	for _, line := range p.lines {
		if n := len(line.points); n > 0 {
			last := line.points[n-1]
			lines = append(lines, fmt.Sprintf("%s ends at %s, %s", line.label, p.x.text(last.x), p.y.text(last.y)))
		}
	}
	if len(lines) == 0 {
		return "No points to draw."
	}
	return fmt.Sprintf("%s against %s: %s.", p.yTitle, p.xTitle, strings.Join(lines, "; "))
}

func (p chart) addAxes(s *scene, toX, toY func(float64) float64) {
	bottom := chartTop + chartPlotHeight
	for _, tick := range (axis{low: p.y.low, high: p.y.high}).ticks(p.y.step) {
		y := toY(tick)
		s.add(stroke{points: []place{{chartLeft, y}, {chartWidth - chartRight, y}}, ink: inkLine, width: 1},
			label{at: place{chartLeft - tickGap, y + textSize/3}, text: p.y.text(tick), size: textSize, ink: inkSoft, anchor: 1})
	}
	step := p.x.step
	if step == 0 {
		step = niceStep(p.x.high-p.x.low, xLabels)
	}
	s.add(stroke{points: []place{{chartLeft, bottom}, {chartWidth - chartRight, bottom}}, ink: inkSoft, width: 1})
	for _, tick := range (axis{low: p.x.low, high: p.x.high}).ticks(step) {
		x := toX(tick)
		s.add(stroke{points: []place{{x, bottom}, {x, bottom + tickGap}}, ink: inkSoft, width: 1},
			label{at: place{x, bottom + tickGap + textSize + 2}, text: p.x.text(tick), size: textSize, ink: inkSoft, anchor: 0.5})
	}
	s.add(label{at: place{(chartLeft + chartWidth - chartRight) / 2, bottom + 42}, text: p.xTitle, size: textSize, ink: inkSoft, anchor: 0.5})
}

func (l chartLine) addTo(s *scene, index int, toX, toY func(float64) float64) {
	if len(l.points) == 0 {
		return
	}
	var places []place
	for _, p := range l.points {
		at := place{toX(p.x), toY(p.y)}
		places = append(places, at)
		if p.spread > 0 {
			s.addWhisker(at.x, toY(p.y+p.spread), toY(p.y-p.spread), seriesInk(index))
		}
	}
	if len(l.fit) > 0 {
		s.add(stroke{points: withinPlot(scaled(l.fit, 0, toX, toY)), ink: seriesInk(index), width: 2, dashes: dashes(index)})
	} else {
		s.add(stroke{points: places, ink: seriesInk(index), width: l.width()})
	}
	next := 0.0
	for i, p := range l.points {
		at := places[i]
		if p.bare || l.sparse && at.x < next {
			continue
		}
		s.add(mark{at: at, index: index, hollow: p.hollow})
		next = at.x + sparseGap
	}
}

func (l chartLine) width() float64 {
	if l.thin {
		return 1
	}
	return 2
}

// addRibbon draws the interval of a fitted line, within the plot.
func (l chartLine) addRibbon(s *scene, index int, toX, toY func(float64) float64) {
	if len(l.fit) < 2 || !(l.fitHalf > 0) {
		return
	}
	outline := withinPlot(scaled(l.fit, l.fitHalf, toX, toY))
	low := withinPlot(scaled(l.fit, -l.fitHalf, toX, toY))
	slices.Reverse(low)
	s.add(ribbon{outline: append(outline, low...), ink: seriesInk(index)})
}

// scaled returns the places of points, all but the first one raised.
func scaled(points []chartPoint, raised float64, toX, toY func(float64) float64) []place {
	places := make([]place, len(points))
	for i, p := range points {
		y := p.y
		if i > 0 {
			y += raised
		}
		places[i] = place{toX(p.x), toY(y)}
	}
	return places
}

// withinPlot holds a line at the upper and the lower edge of the plot where it
// leaves it.
func withinPlot(line []place) []place {
	var held []place
	for i, p := range line {
		if i > 0 {
			held = append(held, crossings(line[i-1], p)...)
		}
		held = append(held, place{p.x, min(max(p.y, chartTop), chartTop+chartPlotHeight)})
	}
	return held
}

// crossings are where a straight line passes an edge of the plot, in order.
func crossings(from, to place) []place {
	var found []place
	for _, edge := range []float64{chartTop, chartTop + chartPlotHeight} {
		if (from.y < edge) != (to.y < edge) && from.y != edge && to.y != edge {
			found = append(found, place{from.x + (edge-from.y)/(to.y-from.y)*(to.x-from.x), edge})
		}
	}
	if to.y < from.y {
		slices.Reverse(found)
	}
	return found
}

// dashes tell fitted lines apart without color; after four they come again.
func dashes(index int) []float64 {
	return [][]float64{nil, {8, 6}, {1, 5}, {8, 6, 1, 6}}[index%4]
}

// addWhisker draws an upright line with short ends, within the plot.
func (s *scene) addWhisker(x, top, bottom float64, color ink) {
	top, bottom = max(top, chartTop), min(bottom, chartTop+chartPlotHeight)
	const half = 4
	for _, points := range [][]place{{{x, top}, {x, bottom}}, {{x - half, top}, {x + half, top}}, {{x - half, bottom}, {x + half, bottom}}} {
		s.add(stroke{points: points, ink: color, width: 1})
	}
}

// addLegend draws the names of the lines in as many rows as they need, the first
// at y, and returns where what follows begins.
func (p chart) addLegend(s *scene, y float64) float64 {
	const gap = 24.0
	x := chartLeft
	for i, line := range p.lines {
		markSpace := 16.0
		if len(line.fit) > 0 { // there is a line to tell, too
			markSpace = 44
		}
		text := fitText(line.label, textSize, chartWidth-chartLeft-chartRight-markSpace)
		width := markSpace + textWidth(text, textSize, false)
		if x > chartLeft && x+width > chartWidth-chartRight {
			x, y = chartLeft, y+lineHeight
		}
		middle := place{x + (markSpace-7)/2, y - textSize/3}
		if len(line.fit) > 0 {
			s.add(stroke{points: []place{{x, middle.y}, {x + markSpace - 8, middle.y}}, ink: seriesInk(i), width: 2, dashes: dashes(i)})
		}
		s.add(mark{at: middle, index: i}, label{at: place{x + markSpace, y}, text: text, size: textSize})
		x += width + gap
	}
	return y + lineHeight
}
