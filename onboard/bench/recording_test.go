package bench

import (
	"math"
	"testing"
	"time"
)

func TestRecording(t *testing.T) {
	var r Recording
	for i, n := range []float64{0, 0, 1, 1, 4, 5} {
		r.add(n, time.Duration(i)*time.Millisecond, false)
	}
	r.add(5, 6*time.Millisecond, true)
	if r.steps != 3 || len(r.Progress) != 7 {
		t.Errorf("%d steps and %d kept, want 3 and 7", r.steps, len(r.Progress))
	}
}

// TestRecordingOfABusyMachine has a reader that runs for 2 ms of every 23, and counts of 300
// and 3,000 changes per second.
func TestRecordingOfABusyMachine(t *testing.T) {
	for _, perSecond := range []float64{300, 3000} {
		r := Recording{Wall: 2 * time.Second}
		for at := time.Duration(0); at < r.Wall; at += 200 * time.Microsecond {
			if at%(23*time.Millisecond) < 2*time.Millisecond {
				r.add(math.Floor(perSecond*at.Seconds()), at, false)
			}
		}
		if got := r.PerSecond(); math.Abs(got/perSecond-1) > 0.25 {
			t.Errorf("%.0f changes per second, want %.0f; %d were seen", got, perSecond, r.steps)
		}
	}
	// Between bunches, half of the time, nothing changes.
	bunches := Recording{Wall: 2 * time.Second}
	var n float64
	for at := time.Duration(0); at < bunches.Wall; at += 200 * time.Microsecond {
		if at%(20*time.Millisecond) < 10*time.Millisecond {
			n++
		}
		bunches.add(n, at, false)
	}
	if got := bunches.PerSecond(); got < 150 || got > 250 {
		t.Errorf("%.0f bunches and changes per second, want about 200", got)
	}
	seldom := Recording{Wall: time.Second, steps: 40}
	if got := seldom.PerSecond(); got != 40 {
		t.Errorf("without close readings %.0f changes per second, want the 40 that were seen", got)
	}
}

// TestFineRecording has a reader that reads all the time now and then, of a program whose
// CPU others hold for a fifth of the time. Its count grows every 4, 30 or 200 µs, or every
// 4 µs at first and then every millisecond.
func TestFineRecording(t *testing.T) {
	const mixed = 0
	for _, each := range []time.Duration{4 * time.Microsecond, 30 * time.Microsecond, 200 * time.Microsecond, mixed} {
		r := Recording{Wall: 100 * time.Millisecond}
		n := 0.0
		for at := time.Duration(0); at < r.Wall; {
			switch held := at%(15*time.Millisecond) >= 12*time.Millisecond; {
			case held:
			case each != mixed:
				n = float64(at / each)
			case at < 10*time.Millisecond:
				n = float64(at / (4 * time.Microsecond))
			default:
				n = 1e4 + float64(at/time.Millisecond)
			}
			r.add(n, at, false)
			if at%(20*time.Millisecond) < time.Millisecond {
				at += time.Microsecond
			} else {
				at += 200 * time.Microsecond
			}
		}
		if want := each == 4*time.Microsecond; r.Fine() != want {
			t.Errorf("a change every %v: fine %v, want %v (%.0f per second)", each, r.Fine(), want, r.finest.Rate())
		}
		if r.Fine() && r.PerSecond() < finePerSecond {
			t.Errorf("a change every %v: %.0f per second", each, r.PerSecond())
		}
	}
}

func TestLongRecordingIsBounded(t *testing.T) {
	var r Recording
	const hour = 3600 * 1000
	for i := range hour {
		r.add(float64(i), time.Duration(i)*time.Millisecond, i == hour-1)
	}
	if r.steps != hour-1 || len(r.Progress) > 8*recordParts {
		t.Errorf("%d steps and %d kept", r.steps, len(r.Progress))
	}
	if last := r.Progress[len(r.Progress)-1]; last.Count != hour-1 {
		t.Errorf("the last is %v", last)
	}
}
