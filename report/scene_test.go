package report

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func length(line []place) float64 {
	sum := 0.0
	for i := 1; i < len(line); i++ {
		sum += math.Hypot(line[i].x-line[i-1].x, line[i].y-line[i-1].y)
	}
	return sum
}

// Dashes and gaps make up the line, in the lengths that were asked for.
func TestDashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stroke{dashes: []float64{rapid.Float64Range(1, 20).Draw(t, "dash"), rapid.Float64Range(1, 20).Draw(t, "gap")}}
		for range rapid.IntRange(2, 6).Draw(t, "points") {
			s.points = append(s.points, place{rapid.Float64Range(0, 200).Draw(t, "x"), rapid.Float64Range(0, 200).Draw(t, "y")})
		}
		drawn := 0.0
		for _, piece := range s.pieces() {
			if l := length(piece); l > s.dashes[0]+1e-6 {
				t.Fatalf("a dash of %v, want %v at most", l, s.dashes[0])
			}
			drawn += length(piece)
		}
		whole, rest := math.Modf(length(s.points) / (s.dashes[0] + s.dashes[1]))
		want := whole*s.dashes[0] + min(rest*(s.dashes[0]+s.dashes[1]), s.dashes[0])
		if math.Abs(drawn-want) > 1e-6 {
			t.Fatalf("%v of %v drawn, want %v", drawn, length(s.points), want)
		}
	})
	whole := stroke{points: []place{{1, 2}, {3, 4}, {5, 9}}}
	if got := whole.pieces(); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("a whole line is in pieces %v", got)
	}
}

// A line is held at the edges of the plot, and is itself within.
func TestWithinPlot(t *testing.T) {
	const bottom = chartTop + chartPlotHeight
	rapid.Check(t, func(t *rapid.T) {
		var line []place
		for i := range rapid.IntRange(2, 8).Draw(t, "points") {
			line = append(line, place{float64(i), rapid.Float64Range(-100, bottom+200).Draw(t, "y")})
		}
		at := func(line []place, x float64) float64 {
			for i := 1; i < len(line); i++ {
				if a, b := line[i-1], line[i]; x <= b.x && b.x > a.x {
					return a.y + (x-a.x)/(b.x-a.x)*(b.y-a.y)
				}
			}
			return line[len(line)-1].y
		}
		held := withinPlot(line)
		for range 20 {
			x := rapid.Float64Range(0, float64(len(line)-1)).Draw(t, "x")
			want := min(max(at(line, x), chartTop), bottom)
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
	img, colors := decoded(t, p), light()
	at := func(gigabytes, performance float64) rgb {
		x := chartLeft + gigabytes/40*(chartWidth-chartLeft-chartRight)
		y := chartTop + (1-performance)/(1-0.6)*chartPlotHeight
		return rgbOf(img.At(int(2*x), int(2*y)))
	}
	if got := at(31, 0.8); got != colors[inkSeries] {
		t.Errorf("the fitted line is %06x", got)
	}
	for _, y := range []float64{0.76, 0.84} {
		if got := at(31, y); got == colors[inkPaper] || got == colors[inkSeries] {
			t.Errorf("the interval at %.2f is %06x", y, got)
		}
	}
	for _, y := range []float64{0.73, 0.87} {
		if got := at(31, y); got != colors[inkPaper] {
			t.Errorf("beyond the interval, at %.2f, it is %06x", y, got)
		}
	}
}
