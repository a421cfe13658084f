package pmu

import (
	"context"
	"fmt"
	"time"

	"bandmate.dev/bandmate/profiler"
)

const (
	// defaultInterval resolves phases of a second, at a cost below a thousandth of
	// a core.
	defaultInterval = 100 * time.Millisecond
	// leastInterval is several times the 1 to 4 ms after which the kernel
	// multiplexes counters.
	leastInterval = 10 * time.Millisecond
)

func intervalOf(w profiler.Workload) (time.Duration, error) {
	switch {
	case w.Interval == 0:
		return defaultInterval, nil
	case w.Interval < leastInterval:
		return 0, fmt.Errorf("interval %v: want at least %v, below which multiplexed counters miss a sample", w.Interval, leastInterval)
	}
	return w.Interval, nil
}

// measured measures a valid workload with a usable source. Its errors name the
// source.
func measured(ctx context.Context, s profiler.Source, w profiler.Workload, measure func(interval time.Duration) (profiler.Summary, error)) (summary profiler.Summary, err error) {
	var interval time.Duration
	if err = w.Validate(); err == nil {
		interval, err = intervalOf(w)
	}
	if err == nil {
		err = s.Available(ctx).Err()
	}
	if err == nil {
		summary, err = measure(interval)
	}
	if err != nil {
		return profiler.Summary{}, fmt.Errorf("measure with %s: %w", s.Name(), err)
	}
	return summary, nil
}

// newTimeline returns a time line of samples that are at least half an interval
// long.
func newTimeline(interval time.Duration) profiler.Timeline {
	return profiler.Timeline{Least: interval.Seconds() / 2}
}

// follow runs w and calls sample after every interval with the time since the
// start, and once more when w has ended. When sample fails, w is canceled.
func follow(ctx context.Context, w profiler.Workload, interval time.Duration, sample func(elapsed time.Duration, last bool) error) (time.Duration, error) {
	ctx, cancel := context.WithCancel(profiler.WithCounted(ctx))
	defer cancel()
	start := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- w.Wait(ctx) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			elapsed := time.Since(start)
			if err != nil {
				return elapsed, err
			}
			return elapsed, sample(elapsed, true)
		case <-ticker.C:
			if err := sample(time.Since(start), false); err != nil {
				cancel()
				<-ended //nolint:errcheck // canceled for err
				return time.Since(start), err
			}
		}
	}
}
