package modulation

import (
	"math"
	"testing"
	"time"
)

func TestLonger(t *testing.T) {
	for _, test := range []struct{ of, want Slicing }{
		{milliseconds(4, 1.5), milliseconds(16, 8)},
		{milliseconds(21.5, 1.5), milliseconds(28, 8)},
		{milliseconds(16, 8), milliseconds(24, 16)},
	} {
		if got := test.of.Longer(); got != test.want {
			t.Errorf("longer than %v: %v, want %v", test.of, got, test.want)
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
	alarms, found := 0, 0
	const repeats = 100
	for seed := range uint64(repeats) {
		c := checkLengths(t, seed, 200*time.Microsecond)
		if c.Slow {
			alarms++
		}
		c = checkLengths(t, seed, 5*time.Millisecond)
		if c.Slow {
			found++
		}
	}
	if alarms > 4 {
		t.Errorf("%d false alarms in %d", alarms, repeats)
	}
	if found < 95 {
		t.Errorf("%d of %d slow effects were found", found, repeats)
	}
}

// Phases are no effect of the length of slices: the long ones are of a part of a run.
func TestCompareLongerWithPhases(t *testing.T) {
	const repeats = 8
	for _, test := range []struct {
		refill      time.Duration
		least, most int // how often short slices are too short
	}{
		{200 * time.Microsecond, 0, 1},
		{5 * time.Millisecond, 7, repeats},
	} {
		checks, slow := 0, 0
		for seed := range uint64(repeats) {
			m := newSimulation(seed, noise{white: 0.05, refill: test.refill})
			p := m.add(&simulated{phases: []phase{{solo: 10, slowdown: 1.05}, {solo: 10, slowdown: 1.4}}})
			m.stream(1)
			plan := m.plan(fine)
			plan.Budget, plan.Whole = 10*time.Second, func() bool { return p.runs > 0 }
			if err := plan.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c, ok, err := plan.CompareLonger(t.Context(), plan.Points[0], usual, comparedLengths)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				checks++
			}
			if c.Slow {
				slow++
			}
		}
		if checks < repeats || slow < test.least || slow > test.most {
			t.Errorf("caches that follow in %v: short slices are too short %d times of %d, %d compared; want %d to %d", test.refill, slow, repeats, checks, test.least, test.most)
		}
	}
}

// Slow effects are found in a program that outlasts every measurement, also where it has
// phases and the plan was carried out in another part of it.
func TestCompareLongerWithinRun(t *testing.T) {
	const repeats = 8
	for _, test := range []struct {
		refill      time.Duration
		least, most int // how often short slices are too short
	}{
		{200 * time.Microsecond, 0, 1},
		{5 * time.Millisecond, 7, repeats},
	} {
		slow := 0
		for seed := range uint64(repeats) {
			m := newSimulation(seed, noise{white: 0.05, refill: test.refill})
			p := m.add(&simulated{phases: []phase{{solo: 5, slowdown: 1.05}, {solo: 600, slowdown: 1.4}}})
			m.stream(1)
			plan := m.plan(fine)
			plan.Budget = 4 * time.Second
			if err := plan.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := comparedLengths
			before := m.now
			c, ok, err := plan.CompareLonger(t.Context(), plan.Points[0], usual, l)
			if err != nil || !ok || p.runs > 0 {
				t.Fatalf("compared %v, %v, after %d runs", ok, err, p.runs)
			}
			if c.Slow {
				slow++
			}
			if c.Short.Readings < l.Fewest || c.Long.Readings < l.Fewest || m.now-before > 2*l.Budget {
				t.Errorf("%d and %d readings in %v", c.Short.Readings, c.Long.Readings, m.now-before)
			}
		}
		if slow < test.least || slow > test.most {
			t.Errorf("caches that follow in %v: short slices are too short %d times of %d, want %d to %d", test.refill, slow, repeats, test.least, test.most)
		}
	}
}

// A pressure that does less in long slices is no reason to warn.
func TestCheckLengthsOneSided(t *testing.T) {
	m := newSimulation(1, noise{})
	readings := func(performance float64) (list []Reading) {
		for range 20 {
			list = append(list, Reading{Log: math.Log(performance) + 0.001*m.random.NormFloat64(), Alone: 1, Beside: performance})
		}
		return list
	}
	high, low := readings(0.9), readings(0.8)
	if c := CheckLengths(low, high, m.random); c.Slow || c.Difference < 0 {
		t.Errorf("faster in long slices: %+v", c)
	}
	if c := CheckLengths(high, low, m.random); !c.Slow || c.Difference > 0 {
		t.Errorf("slower in long slices: %+v", c)
	}
}

// comparedLengths is what the tests compare lengths with.
var comparedLengths = Lengths{Fewest: 12, Most: 48, Budget: 4 * time.Second}
