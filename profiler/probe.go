package profiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ProbeName is the name of the [Probe] source.
const ProbeName = "probe"

// Runner runs a workload beside probes. It chooses the CPUs, memory, order and
// repeats of the runs, and discards disturbed runs.
type Runner interface {
	// Read runs w alone and beside each of the probes until the readings are
	// stable. ApplicationPerformance is nil for a workload without a command.
	Read(ctx context.Context, w Workload, probes []string) (Run, error)
}

// Run is what a [Runner] observed.
type Run struct {
	// Seconds is the median wall time of the workload alone.
	Seconds float64
	// Readings are those of the probes, in any order.
	Readings []ProbeReading
	// Map is the calibration that holds for the readings; nil means that of
	// the Probe.
	Map *Map
	// Warnings are doubts about the readings.
	Warnings []string
}

// Probe is the source for machines whose memory controllers cannot be read. It
// extends the reporter of Bubble-Up (Mars et al. 2011) by a second probe and by the
// application's own slowdown. It resolves neither time nor NUMA nodes.
type Probe struct {
	// Map is the machine's calibration; without it the source is unsupported.
	Map *Map
	// Runner runs workloads beside probes; without it the source is unsupported.
	Runner Runner
	// Node is the NUMA node that the workload and the probes are bound to; nil
	// when they are not bound.
	Node *int
}

var _ Source = (*Probe)(nil)

// Name returns [ProbeName].
func (p *Probe) Name() string { return ProbeName }

// Available reports whether there is a calibration whose probes respond to traffic.
func (p *Probe) Available(context.Context) Availability {
	switch {
	case p.Map == nil:
		return Availability{
			State:  Unsupported,
			Reason: "this machine has no probe map",
			Remedy: "run `bandmate machine` to calibrate it",
		}
	case p.Runner == nil:
		return Availability{State: Unsupported, Reason: "no interferer can run beside the workload"}
	case !p.Map.responds():
		return Availability{
			State: Inconclusive,
			Reason: fmt.Sprintf("an unpaced interferer slows the probes by %.1f%% only: they do not share its memory bandwidth, or do not need it, or others used the machine when it was measured",
				100*p.Map.Contrast()),
			Remedy: "measure the machine again when it is quiet, or with the interferer on CPUs nearer to the probes' or on more of them: `bandmate machine`",
		}
	}
	return Availability{State: Usable}
}

// Measure runs w beside every probe of the map and infers its traffic; see
// [Map.Infer]. The time line is empty.
func (p *Probe) Measure(ctx context.Context, w Workload) (Summary, error) {
	if err := p.Available(ctx).Err(); err != nil {
		return Summary{}, fmt.Errorf("measure with probes: %w", err)
	}
	if err := w.Validate(); err != nil {
		return Summary{}, fmt.Errorf("measure with probes: %w", err)
	}
	if w.Processes != nil {
		return Summary{}, fmt.Errorf("measure with probes: %w: %s cannot be run again, alone and beside each probe; use counters", ErrUnsupported, w.Processes)
	}
	run, err := p.Runner.Read(ctx, w, p.Map.Probes())
	if err != nil {
		return Summary{}, fmt.Errorf("measure with probes: %w", err)
	}
	if !(run.Seconds > 0) {
		return Summary{}, errors.New("measure with probes: the workload alone took no time; repeat it until it lasts at least 0.1 s")
	}
	calibration := p.Map
	if run.Map != nil {
		calibration = run.Map
	}
	e, err := calibration.Infer(run.Readings)
	if err != nil {
		return Summary{}, fmt.Errorf("measure with probes: %w", err)
	}
	return p.summary(run, e), nil
}

func (p *Probe) summary(run Run, e Estimate) Summary {
	s := Summary{
		Source:               ProbeName,
		Seconds:              run.Seconds,
		Traffic:              e.Traffic,
		RelativeUncertainty:  &e.RelativeUncertainty,
		ReadShareUncertainty: &e.ReadShareUncertainty,
		Warnings:             slices.Concat(run.Warnings, e.Warnings),
	}
	if share, ok := e.Traffic.ReadShare(); ok && e.ReadShareKnown {
		s.ReadShare = new(float64(share))
	}
	if p.Node != nil {
		s.PerNode = []NodeTraffic{{Node: *p.Node, Traffic: e.Traffic}}
	}
	return s
}
