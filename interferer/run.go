package interferer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run makes traffic in the foreground until ctx ends or, if d > 0, for d, and
// returns what was achieved over the whole time, with its warnings. The end of
// ctx is not an error. onWindow, unless nil, receives what was achieved in each
// window of time; a last incomplete one is left out.
//
// Options.MaxDuration, if 0, is stretched to d.
func Run(ctx context.Context, o Options, s Setting, d, window time.Duration, onWindow func(Achieved)) (Achieved, error) {
	if d < 0 || onWindow != nil && window <= 0 {
		return Achieved{}, fmt.Errorf("interferer: duration %v in windows of %v: want 0 (no end) or more, in windows longer than 0", d, window)
	}
	if o.MaxDuration == 0 && d > 0 {
		o.MaxDuration = max(DefaultMaxDuration, d+time.Minute)
	}
	i, err := Start(ctx, o)
	if err != nil {
		return Achieved{}, err
	}
	if o.Started != nil {
		o.Started(i.PID())
	}
	achieved, err := run(ctx, i, s, d, window, onWindow)
	achieved.Warnings = i.Warnings()
	if closed := i.Close(); err == nil {
		err = closed
	}
	if ctx.Err() != nil && errors.Is(err, ErrClosed) {
		err = nil
	}
	return achieved, err
}

func run(ctx context.Context, i *Interferer, s Setting, d, window time.Duration, onWindow func(Achieved)) (Achieved, error) {
	if err := i.Apply(s); err != nil {
		return Achieved{}, err
	}
	first := i.Counters()
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	var ticks <-chan time.Time
	if onWindow != nil {
		ticker := time.NewTicker(window)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for last := first; ; {
		select {
		case <-ticks:
			c := i.Counters()
			onWindow(c.Since(last))
			last = c
		case <-over:
			return i.Counters().Since(first), nil
		case <-ctx.Done():
			return i.Counters().Since(first), nil
		case <-i.Done():
			err := i.Err()
			if ctx.Err() != nil {
				err = nil
			}
			return i.Counters().Since(first), err
		}
	}
}
