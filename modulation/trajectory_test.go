package modulation_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bandmate.dev/bandmate/modulation"
)

// unequal is a run whose ticks take twice as long in its second half, slowed down
// by a factor at each moment.
func unequal(slow func(second float64) float64) []modulation.Progress {
	var run []modulation.Progress
	seconds := 0.0
	for tick := range 2001 {
		run = append(run, modulation.Progress{Count: float64(tick), Seconds: seconds})
		each := 1e-3
		if tick >= 1000 {
			each = 2e-3
		}
		seconds += each * slow(seconds)
	}
	return run
}

func TestTrajectoryMakesTicksEqual(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var runs [][]modulation.Progress
	for range 5 {
		// A spell of half speed at another place in each run.
		from := random.Float64() * 2.5
		runs = append(runs, unequal(func(at float64) float64 {
			if at > from && at < from+0.4 {
				return 2
			}
			return 1
		}))
	}
	trajectory, err := modulation.NewTrajectory(runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ count, seconds float64 }{{0, 0}, {500, 0.5}, {1000, 1}, {1500, 2}, {2000, 3}, {2200, 3.3}} {
		if got := trajectory.Seconds(want.count); math.Abs(got-want.seconds) > 0.02 {
			t.Errorf("count %v at %v s, want %v", want.count, got, want.seconds)
		}
	}
	if length := trajectory.Length(); math.Abs(length-3) > 0.02 {
		t.Errorf("length %v, want 3", length)
	}
	if v := trajectory.Variation; v < 0.25 || v > 0.45 {
		t.Errorf("variation %v of ticks of which half take twice as long", v)
	}
	for count := 0.0; count < 2100; count += 7 {
		if trajectory.Seconds(count+7) < trajectory.Seconds(count) {
			t.Fatalf("falls after %v", count)
		}
	}
}

func TestTrajectoryRefuses(t *testing.T) {
	same := func(float64) float64 { return 1 }
	run := unequal(same)
	if _, err := modulation.NewTrajectory([][]modulation.Progress{run, run}); !errors.Is(err, modulation.ErrTooFewRuns) {
		t.Errorf("two runs: %v", err)
	}
	if _, err := modulation.NewTrajectory([][]modulation.Progress{run, run, run[:1500]}); !errors.Is(err, modulation.ErrNotRepeated) {
		t.Errorf("less work in one run: %v", err)
	}
	if _, err := modulation.NewTrajectory([][]modulation.Progress{run, run, nil}); !errors.Is(err, modulation.ErrNotRepeated) {
		t.Errorf("an empty run: %v", err)
	}
}

func TestUnsteadiness(t *testing.T) {
	steady := unequal(func(float64) float64 { return 1 })[:1000]
	if u := modulation.Unsteadiness(steady); u > 0.01 {
		t.Errorf("steady ticks: %v", u)
	}
	wild := unequal(func(at float64) float64 { return 1 + 0.5*math.Sin(at*9) })[:1000]
	if u := modulation.Unsteadiness(wild); u < 0.1 {
		t.Errorf("ticks that vary by a half: %v", u)
	}
	if u := modulation.Unsteadiness(steady[:50]); !math.IsInf(u, 1) {
		t.Errorf("50 ms: %v, want unknown", u)
	}
}
