package curves

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

func points(xy ...float64) []Point {
	var ps []Point
	for i := 0; i < len(xy); i += 2 {
		ps = append(ps, Point{Bandwidth: units.Bandwidth(xy[i] * 1e9), Performance: units.NormalizedPerformance(xy[i+1])})
	}
	return ps
}

func fit(t *testing.T, kind Kind, ps []Point) *Curve {
	t.Helper()
	c, err := Fit(kind, ps)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAt(t *testing.T) {
	falling := points(5, 0.9, 10, 0.8, 15, 0.6, 20, 0.3)
	tests := []struct {
		name   string
		kind   Kind
		points []Point
		at     float64 // GB/s
		want   float64
	}{
		{"line at its mean", Line, falling, 12.5, 0.65},
		{"line's slope", Line, points(10, 0.8, 20, 0.6), 15, 0.7},
		{"line does not start at (0, 1)", Line, points(10, 0.8, 20, 0.6), 0, 1.0},
		{"line above one is cut", Line, points(10, 0.9, 20, 0.5), 0, 1.0},
		{"line goes on beyond", Line, points(10, 0.8, 20, 0.6), 30, 0.4},
		{"line stops at the floor", Line, points(10, 0.8, 20, 0.6), 1000, float64(Floor)},
		{"line through (0, 1) and one point", Line, points(10, 0.8), 5, 0.9},
		{"parabola through three points", Polynomial, points(1, 0.95, 2, 0.8, 3, 0.55), 2.5, 0.6875},
		{"parabola of two points is a line", Polynomial, points(10, 0.8, 20, 0.6), 15, 0.7},
		{"parabola of one point is a line", Polynomial, points(10, 0.8), 5, 0.9},
		{"parabola is held beyond", Polynomial, points(1, 0.95, 2, 0.8, 3, 0.55), 30, 0.55},
		{"interpolation from (0, 1)", Interpolation, falling, 2.5, 0.95},
		{"interpolation between", Interpolation, falling, 12.5, 0.7},
		{"interpolation is held beyond", Interpolation, falling, 99, 0.3},
		{"interpolation of one point", Interpolation, points(10, 0.8), 5, 0.9},
		{"interpolation above one is cut", Interpolation, points(10, 1.05, 20, 0.5), 10, 1},
		{"monotone at a point", Monotone, falling, 10, 0.8},
		{"monotone is held beyond", Monotone, falling, 99, 0.3},
		{"monotone pools a rise", Monotone, points(5, 0.8, 10, 0.9, 15, 0.5), 7.5, 0.85},
		{"monotone of one point", Monotone, points(10, 0.8), 10, 0.8},
		{"all ones", Monotone, points(5, 1, 10, 1), 7, 1},
		{"above one", Monotone, points(5, 1.02, 10, 1.01), 7, 1},
		{"negative bandwidth is zero", Interpolation, falling, -4, 1},
		{"not a number is zero", Interpolation, falling, math.NaN(), 1},
		{"infinite", Monotone, falling, math.Inf(1), 0.3},
		{"a line that ends near zero", Line, points(1e-309, 1.3), 1, 1},
		{"infinite on a line", Line, falling, math.Inf(1), float64(Floor)},
		{"zero bandwidth is left out", Interpolation, append(points(0, 0.5), falling...), 2.5, 0.95},
		{"duplicates are averaged", Interpolation, points(10, 0.8, 10, 0.6), 10, 0.7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := fit(t, test.kind, test.points).At(units.Bandwidth(test.at * 1e9))
			if math.Abs(float64(got)-test.want) > 1e-9 {
				t.Errorf("at %v GB/s: %v, want %v", test.at, got, test.want)
			}
		})
	}
}

func TestDuplicatesAreAveragedByWeight(t *testing.T) {
	c := fit(t, Monotone, []Point{{10e9, 0.8, 3}, {10e9, 0.4, 1}})
	if got := float64(c.At(10e9)); math.Abs(got-0.7) > 1e-12 {
		t.Errorf("weights 3 and 1 of 0.8 and 0.4: %v, want 0.7", got)
	}
}

func TestMonotoneTrustsWeight(t *testing.T) {
	c := fit(t, Monotone, []Point{{5e9, 0.8, 9}, {10e9, 0.9, 1}})
	if got := float64(c.At(10e9)); math.Abs(got-0.81) > 1e-12 {
		t.Errorf("pooled value %v, want (9·0.8 + 0.9) ÷ 10", got)
	}
}

func TestResidual(t *testing.T) {
	tests := []struct {
		name   string
		kind   Kind
		points []Point
		want   float64
	}{
		{"points on a line", Line, points(5, 0.9, 10, 0.8, 15, 0.7), 0},
		// A middle point 0.03 off leaves residuals of −0.01, 0.02 and −0.01.
		{"one off a line", Line, points(5, 0.9, 10, 0.83, 15, 0.7), math.Sqrt(0.01*0.01 + 0.02*0.02 + 0.01*0.01)},
		{"as many parameters as points", Interpolation, points(5, 0.9, 10, 0.83, 15, 0.7), 0},
		{"a pooled pair", Monotone, points(5, 0.8, 10, 0.9), math.Sqrt(2 * 0.05 * 0.05)},
	}
	for _, test := range tests {
		if got := fit(t, test.kind, test.points).Residual(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestSegment(t *testing.T) {
	c := fit(t, Interpolation, points(5, 0.9, 10, 0.8))
	tests := []struct{ at, low, high units.Bandwidth }{
		{0, 0, 5e9}, {4e9, 0, 5e9}, {7e9, 5e9, 10e9}, {10e9, 5e9, 10e9}, {12e9, 10e9, 10e9},
	}
	for _, test := range tests {
		low, high := c.Segment(test.at)
		if low.Bandwidth != test.low || high.Bandwidth != test.high {
			t.Errorf("segment at %v: %v to %v, want %v to %v", test.at, low.Bandwidth, high.Bandwidth, test.low, test.high)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		kind   Kind
		points []Point
		want   string
	}{
		{"nothing", Line, nil, "no points"},
		{"only zero bandwidth", Line, points(0, 1), "no points"},
		{"an unknown kind", "spline", points(5, 0.9), `"spline"`},
		{"performance of zero", Line, points(5, 0.9, 6, 0), "point 1: normalized performance 0"},
		{"performance not a number", Line, points(5, math.NaN()), "point 0: normalized performance NaN"},
		{"negative bandwidth", Line, points(-5, 0.9), "point 0: bandwidth"},
		{"negative weight", Line, []Point{{5e9, 0.9, -1}}, "point 0: weight -1"},
	}
	for _, test := range tests {
		_, err := Fit(test.kind, test.points)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
	if _, err := Fit(Line, nil); !errors.Is(err, ErrNoPoints) {
		t.Errorf("no points: %v is not ErrNoPoints", err)
	}
}

// drawPoints makes valid points, duplicates and wild magnitudes included.
func drawPoints(t *rapid.T) []Point {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
		return Point{
			Bandwidth: units.Bandwidth(rapid.OneOf(
				rapid.Float64Range(1e6, 1e12),
				rapid.SampledFrom([]float64{1e9, 2e9, 5e9, math.Nextafter(5e9, 6e9), 1e-300, 1e300}),
			).Draw(t, "bandwidth")),
			Performance: units.NormalizedPerformance(rapid.Float64Range(1e-6, 1.3).Draw(t, "performance")),
			Weight:      rapid.SampledFrom([]float64{0, 0.1, 1, 7, 1e6}).Draw(t, "weight"),
		}
	}), 1, 20).Draw(t, "points")
}

func drawBandwidth(t *rapid.T) units.Bandwidth {
	return units.Bandwidth(rapid.OneOf(
		rapid.Float64Range(0, 1.5e12), rapid.SampledFrom([]float64{0, 1e9, 5e9, 1e300, math.MaxFloat64}),
	).Draw(t, "at"))
}

func TestEveryCurveStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := drawPoints(t)
		for _, kind := range Kinds() {
			c, err := Fit(kind, ps)
			if err != nil {
				t.Fatal(err)
			}
			if y := c.At(drawBandwidth(t)); !(y >= Floor && y <= 1) {
				t.Fatalf("%s gives %v", kind, y)
			}
			if r := c.Residual(); !(r >= 0) || math.IsInf(r, 0) {
				t.Fatalf("%s has residual %v", kind, r)
			}
		}
	})
}

func TestMonotoneNeverRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := Fit(Monotone, drawPoints(t))
		if err != nil {
			t.Fatal(err)
		}
		a, b := drawBandwidth(t), drawBandwidth(t)
		if a > b {
			a, b = b, a
		}
		const rounding = 1e-9
		if c.At(b) > c.At(a)+rounding {
			t.Fatalf("rises from %v at %v to %v at %v", c.At(a), a, c.At(b), b)
		}
	})
}

func TestInterpolationPassesThroughItsPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := Fit(Interpolation, drawPoints(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Points() {
			want := min(max(p.Performance, Floor), 1)
			if got := c.At(p.Bandwidth); math.Abs(float64(got-want)) > 1e-9 {
				t.Fatalf("at %v: %v, point says %v", p.Bandwidth, got, want)
			}
		}
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := drawPoints(t)
		shuffled := slices.Clone(ps)
		for i := len(shuffled) - 1; i > 0; i-- {
			j := rapid.IntRange(0, i).Draw(t, "swap")
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		}
		at := drawBandwidth(t)
		for _, kind := range Kinds() {
			a, errA := Fit(kind, ps)
			b, errB := Fit(kind, shuffled)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a.At(at) != b.At(at) {
				t.Fatalf("%s: %v, shuffled %v", kind, a.At(at), b.At(at))
			}
		}
	})
}
