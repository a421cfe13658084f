package report

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/internal/drawing"
)

// A line is held at the edges of the plot, and is itself within.
func TestWithinPlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var line []drawing.Point
		for i := range rapid.IntRange(2, 8).Draw(t, "points") {
			line = append(line, drawing.At(float64(i), rapid.Float64Range(-100, chartBottom+200).Draw(t, "y")))
		}
		at := func(line []drawing.Point, x float64) float64 {
			for i := 1; i < len(line); i++ {
				if a, b := line[i-1], line[i]; x <= b.X && b.X > a.X {
					return a.Y + (x-a.X)/(b.X-a.X)*(b.Y-a.Y)
				}
			}
			return line[len(line)-1].Y
		}
		held := withinPlot(line)
		for range 20 {
			x := rapid.Float64Range(0, float64(len(line)-1)).Draw(t, "x")
			want := min(max(at(line, x), chartTop), chartBottom)
			if got := at(held, x); math.Abs(got-want) > 1e-3 {
				t.Fatalf("at %v: %v, want %v", x, got, want)
			}
		}
	})
}

// The fitted line and its interval lie where the numbers say, and the line through
// the points is not drawn.
func TestFittedPixels(t *testing.T) {
	p := &CurvePlot{Curves: []Curve{{
		ReadShare: 1, HalfWidth: 0.05, Points: curvePoints([2]float64{20e9, 0.6}, [2]float64{40e9, 0.6}),
		Fitted: []FittedPoint{{20e9, 0.8}, {40e9, 0.8}},
	}}}
	img := decoded(t, p)
	at := func(gigabytes, performance float64) uint32 {
		x := chartLeft + gigabytes/40*(chartWidth-chartLeft-chartRight)
		y := chartTop + (1-performance)/(1-0.6)*chartPlotHeight
		return rgbOf(img.At(int(2*x), int(2*y)))
	}
	if got := at(31, 0.8); got != firstLine {
		t.Errorf("the fitted line is %06x", got)
	}
	for _, y := range []float64{0.76, 0.84} {
		if got := at(31, y); got == paper || got == firstLine {
			t.Errorf("the interval at %.2f is %06x", y, got)
		}
	}
	for _, y := range []float64{0.73, 0.87} {
		if got := at(31, y); got != paper {
			t.Errorf("beyond the interval, at %.2f, it is %06x", y, got)
		}
	}
}
