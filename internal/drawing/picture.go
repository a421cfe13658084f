// Package drawing draws pictures for files: shapes in pixels from the top left
// corner, written as SVG or as PNG, which look the same but for the font.
package drawing

import "math"

// Picture is a list of shapes; later ones cover earlier ones.
type Picture struct {
	Width, Height float64
	// Title and Description are for readers who cannot see the picture.
	Title, Description string
	shapes             []shape
}

// shape is one of area, polygon, line and Label.
type shape any

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// At returns a point.
func At(x, y float64) Point { return Point{x, y} }

// Box is a rectangle. A viewer shows Hint under the pointer.
type Box struct {
	X, Y, Width, Height float64
	Hint                string
}

type area struct {
	fill    Ink
	opacity float64
	boxes   []Box
}

type polygon struct {
	fill    Ink
	opacity float64
	corners []Point
}

// Stroke is the look of a line.
type Stroke struct {
	Ink   Ink
	Width float64 // in pixels
	// Dashes are the lengths of the dashes and gaps in turns; none for a whole
	// line. The ends of dashes are round and extend beyond these lengths.
	Dashes []float64
}

type line struct {
	Stroke
	points []Point
}

// Label is text on one line.
type Label struct {
	At   Point
	Text string
	// Size is the font size in pixels; TextSize when 0.
	Size   float64
	Ink    Ink
	Anchor Anchor
	Bold   bool
	// Upward turns the text a quarter to the left.
	Upward bool
}

// TextSize is the usual font size in pixels, Small that of remarks.
const (
	TextSize = 12.0
	Small    = 10.0
)

// Anchor is the part of a text that lies at its place: 0 is its start, 1 its end.
type Anchor float64

// The anchors in use.
const (
	Start  Anchor = 0
	Middle Anchor = 0.5
	End    Anchor = 1
)

// Boxes fills rectangles. Those without a hint and without a gap between them are
// drawn as one area.
func (p *Picture) Boxes(fill Ink, opacity float64, boxes ...Box) {
	p.shapes = append(p.shapes, area{fill, opacity, boxes})
}

// Polygon fills the area within corners.
func (p *Picture) Polygon(fill Ink, opacity float64, corners ...Point) {
	p.shapes = append(p.shapes, polygon{fill, opacity, corners})
}

// Line connects points.
func (p *Picture) Line(s Stroke, points ...Point) {
	p.shapes = append(p.shapes, line{s, points})
}

// Text writes labels.
func (p *Picture) Text(labels ...Label) {
	for _, l := range labels {
		if l.Size == 0 {
			l.Size = TextSize
		}
		p.shapes = append(p.shapes, l)
	}
}

// Outline draws the border of a rectangle.
func (p *Picture) Outline(s Stroke, b Box) {
	right, bottom := b.X+b.Width, b.Y+b.Height
	p.Line(s, Point{b.X, b.Y}, Point{right, b.Y}, Point{right, bottom}, Point{b.X, bottom}, Point{b.X, b.Y})
}

// Whisker draws a line with short bars across its ends, which lie at the same x
// or the same y.
func (p *Picture) Whisker(s Stroke, from, to Point) {
	p.Line(s, from, to)
	const half = 4
	across := Point{half, 0}
	if from.Y == to.Y {
		across = Point{0, half}
	}
	bar := Stroke{Ink: s.Ink, Width: 1}
	for _, end := range []Point{from, to} {
		p.Line(bar, Point{end.X - across.X, end.Y - across.Y}, Point{end.X + across.X, end.Y + across.Y})
	}
}

// MarkRadius is the size of a mark in pixels.
const MarkRadius = 4.5

// Mark draws the symbol of series number index: circle, square, triangle and
// diamond, filled and then hollow, as in the terminal. A mark that is hollow
// among filled ones stands for a computed value.
func (p *Picture) Mark(at Point, index int, hollow bool) {
	shape := []struct{ sides, turn, radius float64 }{{16, 0, 1}, {4, 0.125, 1.25}, {3, 0, 1.3}, {4, 0, 1.3}}[index%4]
	outline := func(scale float64) []Point {
		var corners []Point
		for i := range int(shape.sides) {
			sin, cos := math.Sincos(2 * math.Pi * (shape.turn + float64(i)/shape.sides))
			radius := MarkRadius * shape.radius * scale
			corners = append(corners, Point{at.X + radius*sin, at.Y - radius*cos})
		}
		return corners
	}
	p.Polygon(Series(index), 1, outline(1)...)
	if hollow || index/4%2 == 1 {
		p.Polygon(PaperInk, 1, outline(0.6)...)
	}
}
