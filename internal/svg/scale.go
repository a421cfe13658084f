package svg

import (
	"math"
	"strconv"
)

// Scale maps values from 0 to Max to coordinates.
type Scale struct {
	Max float64
	// From is the coordinate of 0, and To that of Max.
	From, To float64
}

// At returns the coordinate of a value, which is held within the scale.
func (s Scale) At(v float64) float64 {
	if !(s.Max > 0) {
		return s.From
	}
	return s.From + (s.To-s.From)*math.Min(math.Max(v/s.Max, 0), 1)
}

// Ticks returns about as many round values as wanted, from 0 up to Max.
func (s Scale) Ticks(wanted int) []float64 {
	if !(s.Max > 0) || math.IsInf(s.Max, 0) || wanted < 1 {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(s.Max/float64(wanted))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if s.Max/(step*factor) <= float64(wanted) {
			step *= factor
			break
		}
	}
	var ticks []float64
	for i := 0; float64(i)*step <= s.Max*(1+1e-9); i++ {
		ticks = append(ticks, float64(i)*step)
	}
	return ticks
}

// Label prints a tick.
func Label(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Frame is a chart's area with both axes.
type Frame struct {
	X, Y Scale
	// XTitle and YTitle stand beside the axes.
	XTitle, YTitle string
	// Title stands above the area.
	Title string
}

// Grid draws the axes, with whole numbers only on the one that goes right where
// asked.
func (f Frame) Grid(p *Picture, wholeX bool) {
	const (
		gray  = "#dde3e8"
		tick  = 16.0
		names = 34.0
	)
	for _, v := range f.Y.Ticks(5) {
		y := f.Y.At(v)
		p.Line(Stroke{Color: gray}, Point{f.X.From, y}, Point{f.X.To, y})
		p.Text(Point{f.X.From - 6, y}, End, Label(v))
	}
	for _, v := range f.X.Ticks(8) {
		if wholeX && v != math.Trunc(v) {
			continue
		}
		x := f.X.At(v)
		p.Line(Stroke{Color: gray}, Point{x, f.Y.From}, Point{x, f.Y.To})
		p.Text(Point{x, f.Y.From + tick}, Middle, Label(v))
	}
	p.Line(Stroke{Color: "#5b7083"}, Point{f.X.From, f.Y.To}, Point{f.X.From, f.Y.From}, Point{f.X.To, f.Y.From})
	p.Text(Point{(f.X.From + f.X.To) / 2, f.Y.From + names}, Middle, f.XTitle)
	p.Upward(Point{f.X.From - 42, (f.Y.From + f.Y.To) / 2}, f.YTitle)
	p.Text(Point{f.X.From, f.Y.To - 12}, Start, f.Title)
}

// Place is a point of the chart.
func (f Frame) Place(x, y float64) Point { return Point{f.X.At(x), f.Y.At(y)} }
