package onboard

import (
	"math"
	"testing"
	"time"
)

// The time that is left follows from the share as from the schedule.
func TestScheduleTellsWhatIsLeft(t *testing.T) {
	const budget, run = 30 * time.Second, time.Second
	for _, test := range []struct {
		name                 string
		knownMachine, cached bool
		spent                time.Duration
		now                  stretch
		done                 float64
		left                 time.Duration
	}{
		{"at first", true, false, 0, learning, 0, 42 * time.Second},
		{"half under pressure", true, false, 20 * time.Second, pressing, 0.5, 23 * time.Second},
		{"with the machine", false, false, 4 * time.Second, measuringMachine, 0.25, 53 * time.Second},
		{"with points in the cache", true, true, 20 * time.Second, pressing, 0.5, 23*time.Second + time.Duration(inCacheShare*float64(43*time.Second))},
		{"in the cache", true, true, 45 * time.Second, caching, 0.5, 5 * time.Second},
		{"done", true, false, 45 * time.Second, checking, 1, 0},
	} {
		s := newSchedule(budget, test.knownMachine, test.cached)
		s.learned(run)
		if test.now == caching {
			s.expected[caching] = 10 * time.Second
		}
		want := test.spent.Seconds() / (test.spent + test.left).Seconds()
		if got := s.share(test.spent, test.now, test.done); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: share %.3f, want %.3f", test.name, got, want)
		}
	}
	long := newSchedule(budget, true, false)
	long.learned(time.Minute)
	if got := long.share(time.Minute, pressing, 0); math.Abs(got-1/(1+1+4.0/60+2)) > 1e-9 {
		t.Errorf("a program of a minute: %v", got)
	}
}
