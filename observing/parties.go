package observing

import (
	"time"

	"bandmate.dev/bandmate/modulation"
)

// target is the party that is counted. It always works.
type target struct {
	clock    modulation.Clock
	counting *Counting
}

// Switch does nothing: the target is never paused.
func (*target) Switch(bool) error { return nil }

func (t *target) Read() (float64, time.Duration, error) {
	n, err := t.counting.Read()
	return n, t.clock.Now(), err
}

func (t *target) Smooth() bool { return t.counting.Smooth }

// neighbor is the party that is paused. Its work is the time.
type neighbor struct {
	clock  modulation.Clock
	pauser Pauser
	paused bool
	since  time.Duration
	// spent is the time for which it was paused.
	spent time.Duration
}

// pauseError is an error of a neighbor, not of the target.
type pauseError struct{ error }

func (e *pauseError) Unwrap() error { return e.error }

func (n *neighbor) Switch(on bool) error {
	if on != n.paused {
		return nil
	}
	if !on {
		n.paused, n.since = true, n.clock.Now()
		err := n.pauser.Pause()
		if err != nil {
			// It is not paused now, but may have been.
			n.paused = false
			n.spent += n.clock.Now() - n.since
			return &pauseError{err}
		}
		return nil
	}
	n.paused = false
	err := n.pauser.Continue()
	n.spent += n.clock.Now() - n.since
	if err != nil {
		return &pauseError{err}
	}
	return nil
}

func (n *neighbor) Read() (float64, time.Duration, error) {
	now := n.clock.Now()
	return now.Seconds(), now, nil
}

func (*neighbor) Smooth() bool { return true }
