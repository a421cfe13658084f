package modulation

import (
	"context"
	"time"
)

// Steps tells how often a count changes, from readings that follow each other closely. The
// zero value has seen nothing.
type Steps struct {
	seen    time.Duration
	changes int
	// unchanged is how long the count has not changed, and squares the sum of the squares
	// of such times between two changes, in seconds.
	unchanged, squares float64
}

const (
	// bunched is how many times the mean the time between two changes is, as a random
	// moment meets it, where they come in bunches. It is once for regular changes and
	// twice for random ones.
	bunched = 3
	// longestBetween is the longest time between two bunches, in seconds, that slices can
	// bridge. In what lasts longer nothing is counted, which a check by whole runs tells.
	longestBetween = 0.1
	// leastBunches makes slices of a tenth of a second.
	leastBunches = 100
)

// Add adds the time between two readings, and whether the count changed in it.
func (s *Steps) Add(gap time.Duration, changed bool) {
	s.seen += gap
	s.unchanged += gap.Seconds()
	if !changed {
		return
	}
	if s.changes++; s.changes > 1 && s.unchanged < longestBetween {
		s.squares += s.unchanged * s.unchanged
	}
	s.unchanged = 0
}

// Missed says that readings are missing, in which the count may have changed.
func (s *Steps) Missed() { s.unchanged = 0 }

// Seen returns the sum of the times.
func (s *Steps) Seen() time.Duration { return s.seen }

// Rate returns how often the count changes per second; 0 where it was not seen to.
func (s *Steps) Rate() float64 {
	if s.changes == 0 {
		return 0
	}
	return float64(s.changes) / s.seen.Seconds()
}

// PerSecond is Rate for SlicingFor. Where changes come in bunches, it is how often bunches
// and single changes come, but at least leastBunches: the work between two bunches counts
// too, and slices have to hold several. A program that loses its CPU for milliseconds
// cannot be told from one whose changes come in bunches.
func (s *Steps) PerSecond() float64 {
	rate := s.Rate()
	if met := s.squares / s.seen.Seconds(); met*rate > bunched {
		return min(rate, max(1/met, leastBunches))
	}
	return rate
}

const (
	// stepTrial and stepPatience are how long steps are counted at least and at
	// most, and enoughSteps how many suffice.
	stepTrial, stepPatience = 100 * time.Millisecond, 2 * time.Second
	enoughSteps             = 50
	// longestUnseen is the most that the time between two reads counts for: on a busy
	// machine it can be longer, and more steps than the one that is seen fit into it.
	longestUnseen = 5 * time.Millisecond
)

// StepRate returns how many steps per second a count grows in, which for bytes are
// far fewer than the bytes. It is told by reading for a tenth of a second, or longer
// until there were 50 steps; 0 when nothing grew in two seconds. With an error of read
// it returns the rate until then.
func StepRate(ctx context.Context, clock Clock, read func() (float64, error)) (float64, error) {
	last, err := read()
	if err != nil {
		return 0, err
	}
	var steps Steps
	begin := clock.Now()
	for before := begin; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		clock.Sleep(edgePoll)
		n, err := read()
		if err != nil {
			return steps.PerSecond(), err
		}
		now := clock.Now()
		steps.Add(min(now-before, longestUnseen), n != last)
		last, before = n, now
		if now-begin >= stepTrial && steps.changes >= enoughSteps || now-begin >= stepPatience {
			return steps.PerSecond(), nil
		}
	}
}
