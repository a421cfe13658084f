package report

import (
	"fmt"
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
		line.addTo(s, i, toX, toY)
	}
	bottom := p.addLegend(s, chartTop+chartPlotHeight+68)
	if p.note != "" {
		s.add(label{at: place{chartLeft, bottom}, text: p.note, size: textSize, ink: inkSoft})
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
	line := stroke{ink: seriesInk(index), width: 2}
	for _, p := range l.points {
		at := place{toX(p.x), toY(p.y)}
		line.points = append(line.points, at)
		if p.spread > 0 {
			s.addWhisker(at.x, toY(p.y+p.spread), toY(p.y-p.spread), seriesInk(index))
		}
	}
	s.add(line)
	next := 0.0
	for i, p := range l.points {
		at := line.points[i]
		if p.bare || l.sparse && at.x < next {
			continue
		}
		s.add(mark{at: at, index: index})
		next = at.x + sparseGap
	}
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
	const markSpace, gap = 16.0, 24.0
	x := chartLeft
	for i, line := range p.lines {
		text := fitText(line.label, textSize, chartWidth-chartLeft-chartRight-markSpace)
		width := markSpace + textWidth(text, textSize, false)
		if x > chartLeft && x+width > chartWidth-chartRight {
			x, y = chartLeft, y+lineHeight
		}
		s.add(mark{at: place{x + markRadius, y - textSize/3}, index: i},
			label{at: place{x + markSpace, y}, text: text, size: textSize})
		x += width + gap
	}
	return y + lineHeight
}
