package report

import (
	"fmt"
	"strings"
)

// The measures of a slowdown plot as a scene, in pixels.
const (
	slowdownEdge   = 16.0
	slowdownHead   = 74.0
	slowdownNames  = 220.0 // at most, for the names at the left
	slowdownValues = 150.0 // for the values at the right
	slowdownLine   = 22.0  // the height of one value
	slowdownGap    = 8.0   // between rows
	slowdownThick  = 8.0   // of the bar from 1 to the value
	mostRows       = 50
)

// shown are the rows that a picture has room for.
func (p *SlowdownPlot) shown() []SlowdownRow { return p.Rows[:min(mostRows, len(p.Rows))] }

func (p *SlowdownPlot) scene() *scene {
	rows := p.shown()
	s := &scene{width: chartWidth, title: p.Title, description: p.describe(rows)}
	s.add(label{at: place{slowdownEdge, 28}, text: fitText(p.Title, titleSize, chartWidth-2*slowdownEdge), size: titleSize, bold: true},
		label{at: place{slowdownEdge, 50}, text: "slowdown: time beside the others ÷ time alone; 1 is undisturbed", size: textSize, ink: inkSoft})
	rowHeight := slowdownLine*float64(len(p.Series)) + slowdownGap
	bottom := slowdownHead + rowHeight*float64(len(rows))
	x := p.span()
	left := slowdownEdge + p.nameWidth(rows) + 2*tickGap
	right := chartWidth - slowdownEdge - slowdownValues
	toX := func(v float64) float64 { return left + (v-x.low)/(x.high-x.low)*(right-left) }
	p.addAxis(s, x, toX, bottom)
	top := func(row int) float64 { return slowdownHead + rowHeight*float64(row) + slowdownGap/2 }
	for i, row := range rows {
		p.addBars(s, row, top(i), toX)
	}
	one := toX(1)
	s.add(stroke{points: []place{{one, slowdownHead - tickGap}, {one, bottom}}, ink: inkText, width: 1.5})
	for i, row := range rows {
		p.addRow(s, row, left-2*tickGap, top(i), toX)
	}
	below := p.addSeries(s, bottom+46)
	for _, note := range p.notes(rows) {
		s.add(label{at: place{slowdownEdge, below}, text: fitText(note, textSize, chartWidth-2*slowdownEdge), size: textSize, ink: inkSoft})
		below += lineHeight
	}
	s.height = below
	return s
}

// nameWidth is what the longest name or remark takes.
func (p *SlowdownPlot) nameWidth(rows []SlowdownRow) float64 {
	width := 40.0
	for _, row := range rows {
		width = max(width, textWidth(SanitizeText(row.Name), textSize, false), textWidth(SanitizeText(row.Remark), smallText+1, false))
	}
	return min(width, slowdownNames)
}

func (p *SlowdownPlot) addAxis(s *scene, x span, toX func(float64) float64, bottom float64) {
	for _, tick := range (axis{low: x.low, high: x.high}).ticks(x.step) {
		at := toX(tick)
		s.add(stroke{points: []place{{at, slowdownHead}, {at, bottom}}, ink: inkLine, width: 1},
			label{at: place{at, bottom + textSize + tickGap}, text: x.text(tick), size: textSize, ink: inkSoft, anchor: 0.5})
	}
	if p.Limit < 1 {
		return
	}
	at := toX(float64(p.Limit))
	s.add(stroke{points: []place{{at, slowdownHead - tickGap}, {at, bottom}}, ink: inkText, width: 1, dashes: []float64{4, 4}},
		label{at: place{at + 4, slowdownHead - tickGap + 2}, text: "limit " + Slowdown(p.Limit), size: smallText + 1, ink: inkText})
}

// addBars draws the bars from 1 to the values of a row.
func (p *SlowdownPlot) addBars(s *scene, row SlowdownRow, top float64, toX func(float64) float64) {
	for i := range p.Series {
		v, y := row.value(i), top+slowdownLine*(float64(i)+0.5)
		if !v.known() {
			continue
		}
		from, to := toX(1), toX(float64(v.Slowdown))
		s.add(ribbon{ink: seriesInk(i), outline: []place{
			{from, y - slowdownThick/2}, {to, y - slowdownThick/2}, {to, y + slowdownThick/2}, {from, y + slowdownThick/2},
		}})
	}
}

// addRow draws the name, which ends at right, and a line for each series.
func (p *SlowdownPlot) addRow(s *scene, row SlowdownRow, right, top float64, toX func(float64) float64) {
	middle := top + slowdownLine*float64(len(p.Series))/2
	name := fitText(row.Name, textSize, slowdownNames)
	if row.Remark == "" {
		s.add(label{at: place{right, middle + textSize/3}, text: name, size: textSize, anchor: 1})
	} else {
		s.add(label{at: place{right, middle - 1}, text: name, size: textSize, anchor: 1},
			label{at: place{right, middle + textSize - 1}, text: fitText(row.Remark, smallText+1, slowdownNames), size: smallText + 1, ink: inkSoft, anchor: 1})
	}
	for i := range p.Series {
		p.addValue(s, row.value(i), i, top+slowdownLine*(float64(i)+0.5), toX)
	}
}

// addValue draws a value with its interval and writes it in words.
func (p *SlowdownPlot) addValue(s *scene, v SlowdownValue, series int, y float64, toX func(float64) float64) {
	text, ink := v.text(), inkText
	if !v.known() {
		ink = inkSoft
	}
	at := place{chartWidth - slowdownEdge - slowdownValues + 2*tickGap, y + textSize/3}
	if v.Extrapolated && v.known() {
		s.add(label{at: place{at.x, y - 1}, text: text, size: textSize},
			label{at: place{at.x, y + textSize - 2}, text: "extrapolated", size: smallText + 1, ink: inkSoft})
	} else {
		s.add(label{at: at, text: text, size: textSize, ink: ink})
	}
	if !v.known() {
		return
	}
	color := seriesInk(series)
	if v.bounded() {
		low, high := toX(float64(v.Low)), toX(float64(v.High))
		line := stroke{points: []place{{low, y}, {high, y}}, ink: color, width: 2}
		if v.Extrapolated {
			line.dashes = []float64{5, 5}
		}
		s.add(line)
		for _, end := range []float64{low, high} {
			s.add(stroke{points: []place{{end, y - 4}, {end, y + 4}}, ink: color, width: 1})
		}
	}
	s.add(mark{at: place{toX(float64(v.Slowdown)), y}, index: series, hollow: v.Extrapolated})
}

// addSeries names the series where there are several, the first line at y, and
// returns where what follows begins.
func (p *SlowdownPlot) addSeries(s *scene, y float64) float64 {
	if len(p.Series) < 2 {
		return y
	}
	const markSpace, gap = 16.0, 24.0
	x := slowdownEdge
	for i, name := range p.Series {
		text := fitText(name, textSize, (chartWidth-2*slowdownEdge)/float64(len(p.Series))-markSpace-gap)
		s.add(mark{at: place{x + markRadius, y - textSize/3}, index: i}, label{at: place{x + markSpace, y}, text: text, size: textSize})
		x += markSpace + textWidth(text, textSize, false) + gap
	}
	return y + lineHeight
}

// notes are those of the plot, and what the drawing itself needs.
func (p *SlowdownPlot) notes(rows []SlowdownRow) []string {
	bounded, extrapolated := false, false
	for _, row := range rows {
		for i := range p.Series {
			v := row.value(i)
			bounded = bounded || v.bounded()
			extrapolated = extrapolated || v.known() && v.Extrapolated
		}
	}
	var notes []string
	if more := len(p.Rows) - len(rows); more > 0 {
		notes = append(notes, fmt.Sprintf("The first %d of %d; CSV has all.", len(rows), len(p.Rows)))
	}
	if bounded {
		notes = append(notes, "Lines and numbers in brackets: 90% intervals.")
	}
	if extrapolated {
		notes = append(notes, "Hollow and dashed: extrapolated, the pressure exceeds what was measured.")
	}
	return append(notes, p.Notes...)
}

// describe says the values in words.
func (p *SlowdownPlot) describe(rows []SlowdownRow) string {
	var parts []string
	for _, row := range rows {
		for i, series := range p.Series {
			name := row.Name
			if len(p.Series) > 1 {
				name += ", " + series
			}
			text := row.value(i).text()
			if row.value(i).Extrapolated {
				text += ", extrapolated"
			}
			parts = append(parts, name+": "+text)
		}
	}
	if len(parts) == 0 {
		return "Nothing to show."
	}
	return strings.Join(parts, "; ") + "."
}
