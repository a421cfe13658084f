package main

import (
	"fmt"

	"bandmate.dev/bandmate/internal/drawing"
)

// beside is an application that uses a set of two thirds of a shared cache again and again,
// beside another one: what each holds of the cache, and how the application performs.
// The figures are those of table1l in the simulation that predictor/testdata/simulated
// describes (llc-ddr4x2).
type beside struct {
	other       string
	own, others float64
	performance float64
}

func besides() []beside {
	return []beside{
		{"alone", 0.69, 0, 1},
		{"beside a small loop", 0.68, 0.21, 1},
		{"beside a slow stream", 0.62, 0.38, 1},
		{"beside a large loop", 0.46, 0.54, 0.96},
		{"beside a fast stream", 0.36, 0.64, 0.68},
	}
}

// drawCache shows how applications divide a shared cache, and what it costs them.
func drawCache(*example) ([]byte, error) {
	const row, left, cache, right, full = 34, 170, 250, 470, 200
	rows := besides()
	s := newSketch(720, 78+row*float64(len(rows)), "What an application holds of a shared cache, and how it performs")
	s.text("bold", drawing.Start, left, 20, "the shared cache")
	s.text("bold", drawing.Start, right, 20, "normalized performance")
	for i, b := range rows {
		y := 32 + row*float64(i)
		s.text("", drawing.End, left-10, y+16, b.other)
		s.rect(drawing.Series(0), 1, left, y, b.own*cache, 22)
		s.rect(drawing.Series(1), 1, left+b.own*cache, y, b.others*cache, 22)
		s.Outline(axisStroke, drawing.Box{X: left, Y: y, Width: cache, Height: 22})
		s.rect(drawing.Series(0), 1, right, y, b.performance*full, 22)
		s.text("small", drawing.Start, right+b.performance*full+6, y+16, fmt.Sprintf("%.2f", b.performance))
	}
	y := 50 + row*float64(len(rows))
	s.rect(drawing.Series(0), 1, left, y, 12, 12)
	s.text("small", drawing.Start, left+18, y+10, "the application")
	s.rect(drawing.Series(1), 1, left+130, y, 12, 12)
	s.text("small", drawing.Start, left+148, y+10, "its neighbor")
	return s.SVG(), nil
}
