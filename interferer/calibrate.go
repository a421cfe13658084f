package interferer

import (
	"context"
	"fmt"
	"time"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Sustained is the highest bandwidth that an interferer reaches at one read
// share, in one pattern.
type Sustained struct {
	ReadShare units.ReadShare
	Pattern   Pattern
	// Bandwidth is the median over the repeats.
	Bandwidth units.Bandwidth
	// RelativeSpread is the standard deviation over the repeats ÷ Bandwidth;
	// NaN for a single repeat.
	RelativeSpread float64
	// Repeats is the number of samples kept.
	Repeats int
}

const (
	// warmup is left out at the start of each sample: the caches still hold
	// what was written before.
	warmup = 5 * time.Millisecond
	// maxDiscards is how many samples in a row may be discarded.
	maxDiscards = 50
)

// Calibrate measures the sustained bandwidth of i for each setting, unpaced:
// their bandwidths and modes are ignored. Each sample takes the time each. The
// samples of one setting are spread over the whole time, so that a machine
// that changes meanwhile changes for all of them; the order alternates.
// Afterwards i is idle.
//
// keep runs a sample and reports whether it counts; one that does not is taken
// again, up to 50 times. It is for callers who know when the machine was
// disturbed; nil keeps all. It must return the error of run.
//
// The results are in the order of the settings.
func Calibrate(ctx context.Context, i *Interferer, settings []Setting, repeats int, each time.Duration,
	keep func(ctx context.Context, run func() error) (bool, error),
) ([]Sustained, error) {
	sustained, err := calibrate(ctx, i, settings, repeats, each, keep)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return sustained, nil
}

// source is what calibrate needs of an Interferer.
type source interface {
	Apply(Setting) error
	Counters() Counters
}

func calibrate(ctx context.Context, i source, settings []Setting, repeats int, each time.Duration,
	keep func(ctx context.Context, run func() error) (bool, error),
) (_ []Sustained, err error) {
	if repeats < 1 || each <= 0 {
		return nil, fmt.Errorf("%d repeats of %v: want one at least, and a time", repeats, each)
	}
	if keep == nil {
		keep = func(_ context.Context, run func() error) (bool, error) { return true, run() }
	}
	defer func() {
		if idle := i.Apply(Setting{Mode: Idle}); err == nil {
			err = idle
		}
	}()
	samples := make([][]float64, len(settings))
	for round := range repeats {
		for k := range settings {
			if round%2 == 1 {
				k = len(settings) - 1 - k
			}
			b, err := sample(ctx, i, settings[k], each, keep)
			if err != nil {
				return nil, fmt.Errorf("%v reads: %w", settings[k].ReadShare, err)
			}
			samples[k] = append(samples[k], float64(b))
		}
	}
	sustained := make([]Sustained, len(settings))
	for k, s := range settings {
		sustained[k] = summarize(s.withDefaults(), samples[k])
	}
	return sustained, nil
}

// sample returns the unpaced bandwidth of one sample that counts.
func sample(ctx context.Context, i source, s Setting, each time.Duration,
	keep func(ctx context.Context, run func() error) (bool, error),
) (units.Bandwidth, error) {
	s.Mode, s.Bandwidth = Stream, 0
	ran := false
	for range maxDiscards {
		var achieved Achieved
		ok, err := keep(ctx, func() error {
			var err error
			achieved, err = observe(ctx, i, s, each)
			return err
		})
		if err != nil {
			return 0, err
		}
		// On a busy machine all threads may be without a CPU for so long.
		if achieved.Traffic.Total() <= 0 {
			continue
		}
		if ran = true; ok {
			return achieved.Traffic.Total(), nil
		}
	}
	if !ran {
		return 0, fmt.Errorf("the interferer got no CPU during %d samples of %v: try again on a quieter machine", maxDiscards, each)
	}
	return 0, fmt.Errorf("%d samples in a row were disturbed: try again on a quieter machine", maxDiscards)
}

// observe applies s and returns what comes of it in a time.
func observe(ctx context.Context, i source, s Setting, d time.Duration) (Achieved, error) {
	if err := i.Apply(s); err != nil {
		return Achieved{}, err
	}
	if err := pause(ctx, warmup); err != nil {
		return Achieved{}, err
	}
	before := i.Counters()
	if err := pause(ctx, d); err != nil {
		return Achieved{}, err
	}
	return i.Counters().Since(before), nil
}

// pause sleeps, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func summarize(s Setting, bandwidths []float64) Sustained {
	middle, spread := stats.MedianAndSpread(bandwidths)
	return Sustained{
		ReadShare:      s.ReadShare,
		Pattern:        s.Pattern,
		Bandwidth:      units.Bandwidth(middle),
		RelativeSpread: spread,
		Repeats:        len(bandwidths),
	}
}
