package modulation

import (
	"math"
	"slices"
	"testing"
	"time"
)

// scenario is a simulated measurement.
type scenario struct {
	name  string
	noise noise
	// phases are those of the target.
	phases []phase
	// grain is the size of the steps of its count, in seconds.
	grain   float64
	slicing Slicing
	// same has the neighbor not matter, so that the truth is 1.
	same bool
	// repeats is how many measurements are simulated.
	repeats int
}

// fine is the slicing for a count without steps.
var fine = Slicing{Length: 4 * time.Millisecond, Settle: 1500 * time.Microsecond}

// coarse is that for steps of a millisecond.
var coarse = Slicing{Length: 12 * time.Millisecond, Settle: 1500 * time.Microsecond}

var (
	steady = []phase{{solo: 3, slowdown: 1.5, elsewhere: 1.2}}
	phased = []phase{
		{solo: 1, slowdown: 1.1, elsewhere: 1}, {solo: 1, slowdown: 2, elsewhere: 1.5, ticks: 3}, {solo: 1, slowdown: 1.4, ticks: 0.5},
	}
)

var scenarios = []scenario{
	{name: "white noise", phases: steady, noise: noise{white: 0.1}},
	{name: "drift", phases: steady, noise: noise{white: 0.05, drift: 0.1}},
	{name: "spells", phases: steady, noise: noise{white: 0.05, spells: true, regimes: true}},
	{name: "interruptions", phases: steady, noise: noise{white: 0.05, interruptions: 5}},
	{name: "late switches", phases: steady, noise: noise{white: 0.05, oversleep: true, latency: true}},
	{name: "coarse ticks", phases: steady, grain: 1e-3, slicing: coarse, noise: noise{white: 0.05, oversleep: true}},
	{name: "phases", phases: phased, noise: noise{white: 0.1}, repeats: 100},
	{name: "all", phases: steady, noise: everything},
	{name: "all with phases", phases: phased, noise: everything, repeats: 100},
	{name: "all with coarse ticks", phases: steady, grain: 1e-3, slicing: coarse, noise: everything},
	{name: "control", phases: steady, noise: everything, same: true},
}

// measure carries out the scenario and returns the estimate and the truth.
func (s *scenario) measure(t *testing.T, seed uint64) (Estimate, float64) {
	m := newSimulation(seed, s.noise)
	target := m.add(&simulated{phases: s.phases, grain: s.grain})
	if !s.same {
		m.stream(1)
	}
	slicing := s.slicing
	if slicing.Length == 0 {
		slicing = fine
	}
	plan := m.plan(slicing)
	plan.Class = usual
	if len(s.phases) > 1 {
		plan.Whole = func() bool { return target.runs >= 2 }
	}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if m.working() {
		t.Fatalf("seed %d: a party works after the plan", seed)
	}
	truth := 1.0
	if !s.same {
		truth = target.performance(false)
	}
	return Summarize(plan.Outcome.Readings[usual]["beside"], m.random), truth
}

// TestIntervalsHoldTheTruth simulates many measurements and counts how many of
// the 90% intervals hold the slowdown of a whole run.
func TestIntervalsHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of simulated measurements take half a minute")
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			repeats := s.repeats
			if repeats == 0 {
				repeats = 200
			}
			held, bias, squares, errors := 0, 0.0, 0.0, 0.0
			for seed := range repeats {
				e, truth := s.measure(t, uint64(seed))
				if e.Low <= truth && truth <= e.High {
					held++
				}
				bias += (e.Performance - truth) / float64(repeats)
				squares += (e.Performance - truth) * (e.Performance - truth) / float64(repeats)
				errors += e.StandardError / float64(repeats)
			}
			share := float64(held) / float64(repeats)
			t.Logf("held %.3f, bias %+.4f, error %.4f, promised %.4f", share, bias, math.Sqrt(squares), errors)
			if share < 0.85 || share > 0.95 {
				t.Errorf("%.1f%% of the 90%% intervals hold the truth", 100*share)
			}
			if math.Abs(bias) > 0.005 {
				t.Errorf("the bias is %+.4f", bias)
			}
			if ratio := math.Sqrt(squares) / errors; ratio < 0.75 || ratio > 1.3 {
				t.Errorf("the error is %.2f times the promised one", ratio)
			}
		})
	}
}

// TestInterruptedSlicesDoNotCount takes a CPU away 40 times per second, as a crowded
// host does, and compares the errors with those of the same readings in which
// interrupted slices count.
func TestInterruptedSlicesDoNotCount(t *testing.T) {
	s := scenario{phases: steady, noise: noise{white: 0.03, interruptions: 40}}
	const repeats = 40
	var with, without float64
	for seed := range uint64(repeats) {
		m := newSimulation(seed, s.noise)
		target := m.add(&simulated{phases: s.phases})
		m.stream(1)
		plan := m.plan(fine)
		plan.Class, plan.Precision = usual, Precision{Fewest: 30, Most: 30}
		if err := plan.Run(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		readings, truth := plan.Outcome.Readings[usual]["beside"], target.performance(false)
		without += math.Abs(Summarize(readings, m.random).Performance - truth)
		counted := slices.Clone(readings)
		for i := range counted {
			counted[i].Lost = 0
		}
		with += math.Abs(Summarize(counted, m.random).Performance - truth)
	}
	t.Logf("mean error %.4f, %.4f where interrupted slices count", without/repeats, with/repeats)
	if without > 0.7*with {
		t.Errorf("the mean error is %.4f, and %.4f where interrupted slices count", without/repeats, with/repeats)
	}
}

// TestShortPhasesAreNotInterruptions: slices of a program with phases of some milliseconds
// differ, too, and those in its sensitive phase belong to the result.
func TestShortPhasesAreNotInterruptions(t *testing.T) {
	phases := []float64{0.007, 0.02, 0.04}
	if testing.Short() {
		phases = phases[1:2] // the race detector makes simulations slow
	}
	for _, each := range phases {
		for _, ticks := range []float64{1, 3} {
			const repeats = 15
			bias := 0.0
			for seed := range uint64(repeats) {
				m := newSimulation(seed, noise{white: 0.03})
				target := m.add(&simulated{endless: true, phases: []phase{{solo: each, slowdown: 1, ticks: ticks}, {solo: each, slowdown: 2, ticks: 1}}})
				m.stream(1)
				plan := m.plan(fine)
				plan.Class = usual
				if err := plan.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				bias += (Summarize(plan.Outcome.Readings[usual]["beside"], m.random).Performance - target.performance(false)) / repeats
			}
			if math.Abs(bias) > 0.03 {
				t.Errorf("phases of %v s, %v times the ticks in one: off by %.3f", each, ticks, bias)
			}
		}
	}
}
