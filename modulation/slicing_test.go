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

// checkLengths measures with slices of two lengths on a machine whose caches follow
// in the time constant refill.
func checkLengths(t *testing.T, seed uint64, refill time.Duration) LengthCheck {
	m := newSimulation(seed, noise{white: 0.05, refill: refill})
	m.add(&simulated{phases: steady})
	m.stream(1)
	short, long := m.plan(fine), m.plan(fine.Longer())
	for _, plan := range []*Plan{short, long} {
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const name = "beside"
	return CheckLengths(short.Outcome.Readings[usual][name], long.Outcome.Readings[usual][name], m.random)
}

func TestCheckLengths(t *testing.T) {
	alarms, found, doubts, trusted := 0, 0, 0, 0
	const repeats = 100
	for seed := range uint64(repeats) {
		c := checkLengths(t, seed, 200*time.Microsecond)
		if c.Slow {
			alarms++
		}
		if !c.Enough {
			doubts++
		}
		c = checkLengths(t, seed, 5*time.Millisecond)
		if c.Slow && c.Difference < 0 {
			found++
		}
		if c.Enough {
			trusted++
		}
	}
	if alarms > 4 {
		t.Errorf("%d false alarms in %d", alarms, repeats)
	}
	if found < 95 {
		t.Errorf("%d of %d slow effects were found", found, repeats)
	}
	if doubts > 25 || trusted > 1 {
		t.Errorf("short slices were doubted %d times where they are long enough, and trusted %d times where they are not, of %d", doubts, trusted, repeats)
	}
}
