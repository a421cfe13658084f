package modulation

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSlicingFor(t *testing.T) {
	for _, test := range []struct {
		rate float64
		want time.Duration
	}{
		{math.Inf(1), 4 * time.Millisecond},
		{1e9, 4 * time.Millisecond},
		{4000, 4 * time.Millisecond},
		{2000, 6500 * time.Microsecond},
		{1000, 11500 * time.Microsecond},
		{200, 51500 * time.Microsecond},
	} {
		s, err := SlicingFor(test.rate)
		if err != nil || s.Length != test.want || s.Settle != 1500*time.Microsecond {
			t.Errorf("at %g steps per second: %v, %v; want %v", test.rate, s, err, test.want)
		}
	}
	for _, rate := range []float64{50, 1, 0, -1, math.NaN()} {
		if s, err := SlicingFor(rate); !errors.Is(err, ErrTooSlow) {
			t.Errorf("at %g steps per second: %v, %v", rate, s, err)
		}
	}
}

// TestSlicingHoldsEnoughSteps measures programs of any grain with the slices that
// are proposed for them.
func TestSlicingHoldsEnoughSteps(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		grain := 1e-6 * math.Pow(5000, random.Float64()) // 1 µs to 5 ms
		slowdown := 1 + 2*random.Float64()
		slicing, err := SlicingFor(1 / grain)
		if err != nil {
			t.Fatal(err)
		}
		m := newSimulation(seed, noise{oversleep: true})
		m.add(&simulated{phases: []phase{{solo: 1000, slowdown: slowdown}}, grain: grain})
		m.stream(1)
		plan := m.plan(slicing)
		plan.Precision = Precision{Fewest: 20}
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := Summarize(plan.Outcome.Readings[usual]["beside"], m.random)
		if math.Abs(e.Performance-1/slowdown) > 4*e.StandardError+0.003 || e.StandardError > 0.0075 {
			t.Errorf("grain %.2g s, slices of %v: %.4f ± %.4f, want %.4f",
				grain, slicing.Length, e.Performance, e.StandardError, 1/slowdown)
		}
	}
}

func TestMaxSlicing(t *testing.T) {
	for _, test := range []struct{ a, b, want Slicing }{
		{Slicing{}, fine, fine},
		{fine, fine.Longer(), fine.Longer()},
		// Ten milliseconds are needed to see ten steps.
		{milliseconds(11.5, 1.5), milliseconds(16, 8), milliseconds(18, 8)},
	} {
		if got := test.a.Max(test.b); got != test.want || test.b.Max(test.a) != got {
			t.Errorf("%v and %v: %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

// milliseconds returns slices by their length and what does not count of it.
func milliseconds(length, settle float64) Slicing {
	return Slicing{Length: time.Duration(length * float64(time.Millisecond)), Settle: time.Duration(settle * float64(time.Millisecond))}
}
