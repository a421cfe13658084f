package report

import (
	"fmt"
	"strings"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// The measures of a slowdown plot in a file, in pixels.
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

// Picture draws the plot for a file. It shows the first 50 rows and says how many
// there are; WriteCSV has all.
func (p *SlowdownPlot) Picture() *drawing.Picture {
	rows := p.shown()
	d := slowdownDrawing{
		Picture: &drawing.Picture{Width: chartWidth, Title: p.Title, Description: p.describe(rows)},
		nameEnd: slowdownEdge + p.nameWidth(rows),
	}
	d.x = p.scale().Between(d.nameEnd+2*drawing.TickGap, chartWidth-slowdownEdge-slowdownValues, 0)
	d.Text(drawing.Label{At: drawing.At(slowdownEdge, 28), Text: drawing.Fit(p.Title, drawing.TitleSize, chartWidth-2*slowdownEdge), Size: drawing.TitleSize, Bold: true},
		drawing.Label{At: drawing.At(slowdownEdge, 50), Text: "slowdown: time beside the others ÷ time alone; 1 is undisturbed", Ink: drawing.SoftInk})
	rowHeight := slowdownLine*float64(len(p.Series)) + slowdownGap
	bottom := slowdownHead + rowHeight*float64(len(rows))
	d.axis(p.Limit, bottom)
	top := func(row int) float64 { return slowdownHead + rowHeight*float64(row) + slowdownGap/2 }
	for i, row := range rows {
		d.bars(row, len(p.Series), top(i))
	}
	one := d.x.At(1)
	d.Line(drawing.Stroke{Ink: drawing.TextInk, Width: 1.5}, drawing.At(one, slowdownHead-drawing.TickGap), drawing.At(one, bottom))
	for i, row := range rows {
		d.row(row, len(p.Series), top(i))
	}
	below := d.legend(p.Series, bottom+46)
	for _, note := range p.notes(rows) {
		d.Text(drawing.Label{At: drawing.At(slowdownEdge, below), Text: drawing.Fit(note, drawing.TextSize, chartWidth-2*slowdownEdge), Ink: drawing.SoftInk})
		below += lineHeight
	}
	d.Height = below
	return d.Picture
}

// slowdownDrawing is a picture with the scale of its slowdowns.
type slowdownDrawing struct {
	*drawing.Picture
	x       drawing.Scale
	nameEnd float64
}

// nameWidth returns the width of the longest name or remark.
func (p *SlowdownPlot) nameWidth(rows []SlowdownRow) float64 {
	width := 40.0
	for _, row := range rows {
		width = max(width, drawing.Width(SanitizeText(row.Name), drawing.TextSize, false), drawing.Width(SanitizeText(row.Remark), drawing.Small, false))
	}
	return min(width, slowdownNames)
}

// axis draws the grid, and a line at the limit where there is one.
func (d slowdownDrawing) axis(limit units.Slowdown, bottom float64) {
	for _, tick := range d.x.Ticks() {
		at := d.x.At(tick)
		d.Line(drawing.Stroke{Ink: drawing.LineInk, Width: 1}, drawing.At(at, slowdownHead), drawing.At(at, bottom))
		d.Text(drawing.Label{At: drawing.At(at, bottom+drawing.TextSize+drawing.TickGap), Text: d.x.Text(tick), Ink: drawing.SoftInk, Anchor: drawing.Middle})
	}
	if limit < 1 {
		return
	}
	at, top := d.x.At(float64(limit)), slowdownHead-drawing.TickGap
	d.Line(drawing.Stroke{Ink: drawing.TextInk, Width: 1, Dashes: []float64{4, 4}}, drawing.At(at, top), drawing.At(at, bottom))
	d.Text(drawing.Label{At: drawing.At(at+4, top+2), Text: "limit " + Slowdown(limit), Size: drawing.Small})
}

// bars draws the bars from 1 to the values of a row.
func (d slowdownDrawing) bars(row SlowdownRow, series int, top float64) {
	for i := range series {
		v, y := row.value(i), top+slowdownLine*(float64(i)+0.5)
		if !v.known() {
			continue
		}
		from, to := d.x.At(1), d.x.At(float64(v.Slowdown))
		d.Boxes(drawing.Series(i), ribbonOpacity, drawing.Box{X: min(from, to), Y: y - slowdownThick/2, Width: max(to-from, from-to), Height: slowdownThick})
	}
}

// row draws the name and a line for each series.
func (d slowdownDrawing) row(row SlowdownRow, series int, top float64) {
	middle := top + slowdownLine*float64(series)/2
	name := drawing.Label{At: drawing.At(d.nameEnd, middle+drawing.TextSize/3), Text: drawing.Fit(row.Name, drawing.TextSize, slowdownNames), Anchor: drawing.End}
	if row.Remark != "" {
		name.At.Y = middle - 1
		d.Text(drawing.Label{At: drawing.At(d.nameEnd, middle+drawing.TextSize-1), Text: drawing.Fit(row.Remark, drawing.Small, slowdownNames), Size: drawing.Small, Ink: drawing.SoftInk, Anchor: drawing.End})
	}
	d.Text(name)
	for i := range series {
		d.value(row.value(i), i, top+slowdownLine*(float64(i)+0.5))
	}
}

// value draws a value with its interval and writes it in words.
func (d slowdownDrawing) value(v SlowdownValue, series int, y float64) {
	words := drawing.Label{At: drawing.At(chartWidth-slowdownEdge-slowdownValues+2*drawing.TickGap, y+drawing.TextSize/3), Text: v.text()}
	if !v.known() {
		words.Ink = drawing.SoftInk
		d.Text(words)
		return
	}
	interval := drawing.Stroke{Ink: drawing.Series(series), Width: 2}
	if v.Extrapolated {
		words.At.Y = y - 1
		d.Text(drawing.Label{At: drawing.At(words.At.X, y+drawing.TextSize-2), Text: "extrapolated", Size: drawing.Small, Ink: drawing.SoftInk})
		interval.Dashes = []float64{5, 5}
	}
	d.Text(words)
	if v.bounded() {
		d.Whisker(interval, drawing.At(d.x.At(float64(v.Low)), y), drawing.At(d.x.At(float64(v.High)), y))
	}
	d.Mark(drawing.At(d.x.At(float64(v.Slowdown)), y), series, v.Extrapolated)
}

// legend names the series where there are several, the first line at y, and
// returns where the next line begins.
func (d slowdownDrawing) legend(series []string, y float64) float64 {
	if len(series) < 2 {
		return y
	}
	const markSpace, gap = 16.0, 24.0
	x := slowdownEdge
	for i, name := range series {
		text := drawing.Fit(name, drawing.TextSize, (chartWidth-2*slowdownEdge)/float64(len(series))-markSpace-gap)
		d.Mark(drawing.At(x+drawing.MarkRadius, y-drawing.TextSize/3), i, false)
		d.Text(drawing.Label{At: drawing.At(x+markSpace, y), Text: text})
		x += markSpace + drawing.Width(text, drawing.TextSize, false) + gap
	}
	return y + lineHeight
}

// notes returns those of the plot after those that the drawing itself needs.
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
