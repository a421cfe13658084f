package drawing

import (
	"math"
	"strconv"
)

// Scale maps the values from Low to High onto the coordinates from From to To.
type Scale struct {
	Low, High float64
	From, To  float64
	// Step is the distance of the labeled values.
	Step float64
	// Label prints a value; nil prints four significant digits.
	Label func(float64) string
}

// At returns the coordinate of v; values beyond the scale lie beyond its ends.
func (s Scale) At(v float64) float64 {
	return s.From + (v-s.Low)/(s.High-s.Low)*(s.To-s.From)
}

// Text prints a value.
func (s Scale) Text(v float64) string {
	if s.Label != nil {
		return s.Label(v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Between returns the scale that lies between two coordinates, with a step that
// divides it into at most parts parts where it has none.
func (s Scale) Between(from, to float64, parts int) Scale {
	s.From, s.To = from, to
	if s.Step == 0 {
		s.Step = NiceStep(s.High-s.Low, parts)
	}
	return s
}

// Rounded widens the scale to multiples of the step that divides it into about
// parts parts.
func (s Scale) Rounded(parts int) Scale {
	s.Step = NiceStep(s.High-s.Low, parts)
	s.Low = math.Floor(s.Low/s.Step+1e-9) * s.Step
	s.High = math.Ceil(s.High/s.Step-1e-9) * s.Step
	return s
}

// Ticks returns the multiples of the step from Low to High.
func (s Scale) Ticks() []float64 {
	var ticks []float64
	slack := s.Step * 1e-9
	for k := math.Ceil((s.Low - slack) / s.Step); k*s.Step <= s.High+slack; k++ {
		ticks = append(ticks, k*s.Step+0) // +0 turns a negative zero into zero
	}
	return ticks
}

// NiceStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that
// divides span into at most parts parts. Span must be above 0.
func NiceStep(span float64, parts int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/float64(parts))))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if span <= factor*power*float64(parts)*(1+1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// Frame is the area of a chart with its axes.
type Frame struct {
	X, Y Scale
	// Title and YTitle stand above the area, XTitle below it.
	Title, XTitle, YTitle string
}

// TickGap is the distance in pixels of an axis from its labels.
const TickGap = 6.0

// Point returns the place of a value of each axis.
func (f Frame) Point(x, y float64) Point { return Point{f.X.At(x), f.Y.At(y)} }

// Axes draws a line at each step of the y axis, and the x axis with its ticks.
func (p *Picture) Axes(f Frame) {
	left, right, top, bottom := f.X.From, f.X.To, f.Y.To, f.Y.From
	p.Text(Label{At: Point{left, top - 36}, Text: Fit(f.Title, TitleSize, right-left), Size: TitleSize, Bold: true},
		Label{At: Point{left, top - 14}, Text: f.YTitle, Ink: SoftInk})
	for _, tick := range f.Y.Ticks() {
		y := f.Y.At(tick)
		p.Line(Stroke{Ink: LineInk, Width: 1}, Point{left, y}, Point{right, y})
		p.Text(Label{At: Point{left - TickGap, y + TextSize/3}, Text: f.Y.Text(tick), Ink: SoftInk, Anchor: End})
	}
	soft := Stroke{Ink: SoftInk, Width: 1}
	p.Line(soft, Point{left, bottom}, Point{right, bottom})
	for _, tick := range f.X.Ticks() {
		x := f.X.At(tick)
		p.Line(soft, Point{x, bottom}, Point{x, bottom + TickGap})
		p.Text(Label{At: Point{x, bottom + TickGap + TextSize + 2}, Text: f.X.Text(tick), Ink: SoftInk, Anchor: Middle})
	}
	p.Text(Label{At: Point{(left + right) / 2, bottom + 42}, Text: f.XTitle, Ink: SoftInk, Anchor: Middle})
}
