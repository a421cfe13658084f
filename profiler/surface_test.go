package profiler

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFalling(t *testing.T) {
	for _, tt := range []struct {
		name  string
		knots []knot
		at    map[float64]float64
		moved float64
	}{
		{
			name:  "falling points stay",
			knots: []knot{{10, 0.9, 1}, {20, 0.6, 1}},
			at:    map[float64]float64{-1: 1, 0: 1, 5: 0.95, 10: 0.9, 15: 0.75, 20: 0.6, 99: 0.6},
		},
		{
			name:  "a rise is pooled by weight",
			knots: []knot{{10, 0.6, 3}, {20, 0.8, 1}},
			at:    map[float64]float64{10: 0.65, 15: 0.65, 20: 0.65},
			moved: 0.15,
		},
		{
			name:  "above one is clipped",
			knots: []knot{{10, 1.05, 1}, {20, 0.5, 1}},
			at:    map[float64]float64{10: 1, 15: 0.75},
		},
		{
			name:  "order does not matter and equals are averaged",
			knots: []knot{{20, 0.4, 1}, {10, 0.7, 1}, {10, 0.9, 3}},
			at:    map[float64]float64{10: 0.85, 20: 0.4},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			curve, moved := falling(tt.knots)
			for x, want := range tt.at {
				if got := curve.at(x); math.Abs(got-want) > 1e-12 {
					t.Errorf("at %v: %v, want %v", x, got, want)
				}
			}
			if math.Abs(moved-tt.moved) > 1e-12 {
				t.Errorf("moved %v, want %v", moved, tt.moved)
			}
		})
	}
}

// TestFallingIsNearest compares pooling with every monotone curve of a lattice:
// none lies nearer to the knots.
func TestFallingIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		knots := make([]knot, 4)
		for i := range knots {
			knots[i] = knot{
				x:      float64(i + 1),
				y:      float64(rapid.IntRange(0, 10).Draw(t, "y")) / 10,
				weight: float64(rapid.IntRange(1, 4).Draw(t, "weight")),
			}
		}
		curve, _ := falling(knots)
		if !slices.IsSortedFunc(curve.y, func(a, b float64) int { return cmp.Compare(b, a) }) {
			t.Fatalf("rises: %v", curve.y)
		}
		distance := func(y func(i int) float64) (d float64) {
			for i, k := range knots {
				d += k.weight * (y(i) - k.y) * (y(i) - k.y)
			}
			return d
		}
		got := distance(func(i int) float64 { return curve.y[i+1] })
		const steps = 10
		for a := steps; a >= 0; a-- {
			for b := a; b >= 0; b-- {
				for c := b; c >= 0; c-- {
					for d := c; d >= 0; d-- {
						y := []int{a, b, c, d}
						if other := distance(func(i int) float64 { return float64(y[i]) / steps }); other < got-1e-9 {
							t.Fatalf("%v is nearer (%v) than %v (%v)", y, other, curve.y, got)
						}
					}
				}
			}
		}
	})
}

func TestSurfaceInterpolatesShares(t *testing.T) {
	s := surface{
		shares: []float64{0.5, 1},
		curves: []piecewise{{x: []float64{0, 10}, y: []float64{1, 0.4}}, {x: []float64{0, 10}, y: []float64{1, 0.8}}},
	}
	for _, tt := range []struct{ bandwidth, share, want float64 }{
		{10, 0.2, 0.4}, {10, 0.5, 0.4}, {10, 0.75, 0.6}, {5, 0.75, 0.8}, {10, 1, 0.8}, {10, 2, 0.8},
	} {
		if got := s.at(tt.bandwidth, tt.share); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("at %v, %v: %v, want %v", tt.bandwidth, tt.share, got, tt.want)
		}
	}
}
