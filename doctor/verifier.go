package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/units"
)

var (
	checkedReadShares = []units.ReadShare{1, 0.75, 0.5}
	// checkedLevels are shares of the sustained bandwidth.
	checkedLevels = []float64{0.3, 0.7}
)

// Stream generates traffic and accounts for it; an [interferer.Interferer] is one.
type Stream interface {
	// Apply changes what the stream does.
	Apply(interferer.Setting) error
	// Counters returns the traffic so far.
	Counters() interferer.Counters
	// Err returns why the stream has ended; nil while it runs.
	Err() error
}

// Verifier has counters count the traffic of a stream.
type Verifier struct {
	Source profiler.Source
	Stream Stream
	// Report is told how many settings are left and which one follows; may be nil.
	Report func(left int, next interferer.Setting)

	times verifierTimes
	// warnings are those of the source, each once.
	warnings []string
}

// verifierTimes is how long each part of a verification takes.
type verifierTimes struct {
	loaded, idle time.Duration
	// settle lets caches fill with what the stream dirties, so that as much is
	// written back as is written; and empty again.
	settle time.Duration
}

// defaultTimes take about 12 s in all.
var defaultTimes = verifierTimes{loaded: 800 * time.Millisecond, idle: 300 * time.Millisecond, settle: 300 * time.Millisecond}

// Sustained returns what a stream sustains at each read share that a Verifier checks.
func Sustained(ctx context.Context, stream *interferer.Interferer) ([]interferer.Sustained, error) {
	var unpaced []interferer.Setting
	for _, share := range checkedReadShares {
		unpaced = append(unpaced, interferer.Setting{Mode: interferer.Stream, ReadShare: share})
	}
	return interferer.Calibrate(ctx, stream, unpaced, 2, 150*time.Millisecond, nil)
}

// Run checks each read share at two levels of what the stream sustains there, and
// returns the warnings of the source as well. What the machine does without the stream is
// counted before and after each check. The error wraps [profiler.ErrInconclusive] where
// the stream got no CPU time.
func (v *Verifier) Run(ctx context.Context, sustained []interferer.Sustained) ([]Check, []string, error) {
	v.times = cmp.Or(v.times, defaultTimes)
	before, err := v.idle(ctx)
	if err != nil {
		return nil, nil, err
	}
	var checks []Check
	for _, top := range sustained {
		for _, level := range checkedLevels {
			s := interferer.Setting{Mode: interferer.Stream, ReadShare: top.ReadShare, Bandwidth: top.Bandwidth * units.Bandwidth(level)}
			if v.Report != nil {
				v.Report(len(sustained)*len(checkedLevels)-len(checks), s)
			}
			c, err := v.loaded(ctx, s)
			if err != nil {
				return nil, nil, err
			}
			after, err := v.idle(ctx)
			if err != nil {
				return nil, nil, err
			}
			c.Background, before = before.Add(after).Scale(0.5), after
			checks = append(checks, c)
		}
	}
	return checks, v.warnings, nil
}

// idle counts without the stream.
func (v *Verifier) idle(ctx context.Context) (units.Traffic, error) {
	if err := v.apply(ctx, interferer.Setting{Mode: interferer.Idle}); err != nil {
		return units.Traffic{}, err
	}
	summary, err := v.count(ctx, profiler.Workload{Duration: v.times.idle})
	if err != nil {
		return units.Traffic{}, err
	}
	// Those of a loaded run speak of a background that is the stream itself.
	for _, w := range summary.Warnings {
		if !slices.Contains(v.warnings, w) {
			v.warnings = append(v.warnings, w)
		}
	}
	return summary.Traffic, nil
}

// loaded counts with the stream, which runs before and on after, so that what
// caches hold back from memory is the same at both ends.
func (v *Verifier) loaded(ctx context.Context, s interferer.Setting) (Check, error) {
	if err := v.apply(ctx, s); err != nil {
		return Check{}, err
	}
	var from, to interferer.Counters
	summary, err := v.count(ctx, profiler.Workload{Run: func(ctx context.Context) error {
		from = v.Stream.Counters()
		err := profiler.Workload{Duration: v.times.loaded}.Wait(ctx)
		to = v.Stream.Counters()
		return err
	}})
	if err := errors.Join(err, v.Stream.Err()); err != nil {
		return Check{}, err
	}
	made := to.Since(from).Traffic
	if made.Total() <= 0 {
		return Check{}, fmt.Errorf("%w: the interferer got no CPU time in %v; end other programs, or choose others with --cpus", profiler.ErrInconclusive, v.times.loaded)
	}
	return Check{
		Asked: units.TrafficOf(s.Bandwidth, s.ReadShare), Made: made,
		Counted: summary.Traffic, SplitsReadWrite: summary.ReadShare != nil,
	}, nil
}

// count measures; counters that stay at zero have counted zero.
func (v *Verifier) count(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	summary, err := v.Source.Measure(ctx, w)
	if errors.Is(err, pmu.ErrNothingCounted) {
		return profiler.Summary{}, nil
	}
	return summary, err
}

func (v *Verifier) apply(ctx context.Context, s interferer.Setting) error {
	if err := v.Stream.Apply(s); err != nil {
		return err
	}
	return profiler.Workload{Duration: v.times.settle}.Wait(ctx)
}
