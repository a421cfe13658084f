package interferer

import (
	"math/rand/v2"
	"testing"
	"time"

	"bandmate.dev/bandmate/units"
)

// spaced is a paced stream over a fake clock whose memory takes cost per chunk. It
// returns the share of the time after settling that went into waits at the end of
// chunks, and the achieved share of the rate.
func spaced(rate units.Bandwidth, cost func(chunk int) time.Duration) (waited, achieved float64) {
	const chunk, groups, chunks, settled = 64 << 10, 128, 4000, 400
	pace, space := newPacer(rate, 0), spacing{step: 0.3}
	var now, waits, begin time.Duration
	for i := range chunks {
		if i == settled {
			begin, waits = now, 0
		}
		gap := float64(space.between()) * space.step
		now += cost(i) + time.Duration(groups*gap)
		wait, _ := pace.sent(chunk, now)
		space.learn(pace.time(chunk), wait, groups)
		now += wait
		waits += wait
	}
	spent := now - begin
	return float64(waits) / float64(spent), (chunks - settled) * chunk / spent.Seconds() / float64(rate)
}

func TestSpacingReplacesWaits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	full := 3 * time.Microsecond
	for name, cost := range map[string]func(int) time.Duration{
		"steady":      func(int) time.Duration { return full },
		"noisy":       func(int) time.Duration { return full*3/4 + time.Duration(random.Int64N(int64(full/2))) },
		"interrupted": func(i int) time.Duration { return full + time.Duration((i+250)%500/499)*300*time.Microsecond },
		"slower":      func(i int) time.Duration { return full * time.Duration(1+i/2000) },
	} {
		for _, rate := range []units.Bandwidth{2, 4, 8} {
			waited, achieved := spaced(rate*units.GigabytePerSecond, cost)
			if waited > 3*spareShare {
				t.Errorf("%s at %v GB/s: waits for %.1f%% of the time at the ends of chunks", name, float64(rate), 100*waited)
			}
			if achieved < 0.995 || achieved > 1.01 {
				t.Errorf("%s at %v GB/s: reaches %.2f%% of the rate", name, float64(rate), 100*achieved)
			}
		}
	}
}

func TestSpacingBounds(t *testing.T) {
	// 16 MB/s would take gaps of 4 ms a chunk.
	s := spacing{step: 0.3}
	for range 1000 {
		s.learn(4*time.Millisecond, 4*time.Millisecond, 128)
	}
	if total := 128 * float64(s.between()) * s.step; total > float64(longestGaps) || total < 0.9*float64(longestGaps) {
		t.Errorf("gaps of %v ns in a chunk, want %v", total, longestGaps)
	}
	for range 1000 {
		s.learn(time.Microsecond, 0, 128)
	}
	if s.between() != 0 {
		t.Errorf("late all the time, and still a gap of %d steps", s.between())
	}
	if unknown := (&spacing{gap: 100}).between(); unknown != 0 {
		t.Errorf("a gap of %d steps whose time is not known", unknown)
	}
}
