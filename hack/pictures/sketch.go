package main

import (
	"math"
	"strings"

	"bandmate.dev/bandmate/internal/drawing"
)

// sketch is a picture under construction.
type sketch struct{ *drawing.Picture }

func newSketch(width, height float64, title string) sketch {
	return sketch{&drawing.Picture{Width: width, Height: height, Title: title}}
}

var (
	axisStroke = drawing.Stroke{Ink: drawing.SoftInk, Width: 1}
	gridStroke = drawing.Stroke{Ink: drawing.LineInk, Width: 1}
)

// series is the look of line i.
func series(i int) drawing.Stroke { return drawing.Stroke{Ink: drawing.Series(i), Width: 2} }

func (s sketch) line(look drawing.Stroke, x1, y1, x2, y2 float64) {
	s.Line(look, drawing.At(x1, y1), drawing.At(x2, y2))
}

// arrow is a line with a head at its end.
func (s sketch) arrow(look drawing.Stroke, x1, y1, x2, y2 float64) {
	s.line(look, x1, y1, x2, y2)
	angle := math.Atan2(y2-y1, x2-x1)
	for _, side := range []float64{-2.7, 2.7} {
		s.line(look, x2, y2, x2+8*math.Cos(angle+side), y2+8*math.Sin(angle+side))
	}
}

func (s sketch) rect(fill drawing.Ink, opacity, x, y, width, height float64) {
	s.Boxes(fill, opacity, drawing.Box{X: x, Y: y, Width: width, Height: height})
}

// text writes at a place in a style of words: small, soft, bold.
func (s sketch) text(style string, anchor drawing.Anchor, x, y float64, text string) {
	l := drawing.Label{At: drawing.At(x, y), Text: text, Size: 13, Anchor: anchor, Bold: strings.Contains(style, "bold")}
	if strings.Contains(style, "small") {
		l.Size = 11
	}
	if strings.Contains(style, "soft") {
		l.Ink = drawing.SoftInk
	}
	s.Text(l)
}

// plot is a sketch with axes.
type plot struct {
	sketch
	drawing.Frame
	left, top, right, bottom float64
}

func newPlot(width, height float64, title string, x, y drawing.Scale, xTitle, yTitle string) plot {
	p := plot{sketch: newSketch(width, height, title), left: 56, top: 34, right: width - 16, bottom: height - 54}
	p.Frame = drawing.Frame{X: x.Between(p.left, p.right, 0), Y: y.Between(p.bottom, p.top, 0), XTitle: xTitle, YTitle: yTitle}
	p.Axes(p.Frame)
	return p
}

func (p plot) x(v float64) float64 { return p.X.At(v) }
func (p plot) y(v float64) float64 { return p.Y.At(v) }

// mark draws the symbol of line i.
func (p plot) mark(i int, x, y float64) { p.Mark(drawing.At(x, y), i, false) }

// whisker is a vertical span with ends, in values of the axes.
func (p plot) whisker(look drawing.Stroke, x, low, high float64) {
	p.Whisker(look, p.Point(x, low), p.Point(x, high))
}
