package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Duet measures what one program costs another, which both run on the
// session's CPUs: the neighbor is paused and continued in slices beside the
// target. A program that ends is started again.
type Duet struct {
	Session *bench.Session
	// Target runs on the application's CPUs, Beside on the interferer's.
	Target, Beside launch.Command
	// Source counts the target's work; nil has it found out.
	Source    ticks.Source
	Precision modulation.Precision
	// Budget bounds the time of the measurement.
	Budget time.Duration
	// Report is told the share of the time that has passed, 0 to 1, and what runs
	// now; may be nil.
	Report func(share float64, what string)
}

// DuetResult is what a duet found.
type DuetResult struct {
	// Ticks names the count of the target's work.
	Ticks string
	// Beside is the target's performance beside the neighbor ÷ beside the paused
	// neighbor, Control the same where nothing differs.
	Beside, Control modulation.Estimate
	// PausedShare is the share of the time for which the neighbor was paused.
	PausedShare float64
	// Elapsed is the time of the measurement.
	Elapsed time.Duration
	Class   regime.Class
	// Dropped counts blocks taken in other regimes or while it changed, Lost those
	// that ended early.
	Dropped, Lost int
}

// duet is one run of a Duet.
type duet struct {
	*Duet
	*bench.Stage
	target   *bench.Program
	neighbor *bench.Neighbor
	clock    monotonic.Clock
	begin    time.Duration
}

// besideNeighbor names the comparison of a duet.
const besideNeighbor = "neighbor"

// Run observes. The error wraps ErrNoTicks where nothing tells the target's
// progress.
func (o *Duet) Run(ctx context.Context) (result *DuetResult, err error) {
	r := &duet{Duet: o}
	if r.Stage, err = o.Session.OpenStage(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stage.Close()) }()
	r.target = r.Program(o.Target, o.Source, true)
	r.neighbor = r.Stage.Neighbor(o.Beside)
	r.Parties = [2]modulation.Party{r.target, r.neighbor}
	r.report(0, "the target alone")
	if r.target.Source == nil {
		if r.target.Source, err = r.find(ctx); err != nil {
			return nil, err
		}
	}
	return r.observe(ctx)
}

func (r *duet) report(share float64, what string) {
	if r.Report != nil {
		r.Report(share, what)
	}
}

// besideShare is how many readings the slowdown gets for each of the control.
const besideShare = 4

// find finds out what counts the target's work.
func (r *duet) find(ctx context.Context) (ticks.Source, error) {
	counts, err := r.target.CountsItself(ctx)
	if err != nil || counts {
		return ticks.Page{}, err
	}
	instructions := ticks.Instructions{}
	_, unavailable := instructions.Prepare()
	if unavailable == nil {
		return instructions, nil
	}
	found, err := r.Discover(ctx, r.target)
	if errors.Is(err, ticks.ErrNothingCounts) {
		return nil, fmt.Errorf("%q: %w: it neither counts its work itself, nor reads or writes steadily, nor calls a function that can be counted, and %w", r.Target.String(), bench.ErrNoTicks, unavailable)
	}
	if err != nil {
		return nil, err
	}
	return found[0].Source, nil
}

// observe measures with the ticks that were chosen.
func (r *duet) observe(ctx context.Context) (result *DuetResult, err error) {
	if err := r.target.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.target.Stop()) }()
	steps, err := r.target.StepRate(ctx)
	if err != nil {
		return nil, err
	}
	slicing, err := modulation.SlicingFor(steps)
	if err != nil {
		return nil, fmt.Errorf("%q: %w: %s: %w", r.Target.String(), bench.ErrNoTicks, r.target.Source.Name(), err)
	}
	if err := r.neighbor.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.neighbor.Stop()) }()
	r.begin = r.clock.Now()
	plan := r.plan(slicing)
	if err := r.Stage.Run(ctx, plan); err != nil {
		if errors.Is(err, modulation.ErrStalled) {
			err = fmt.Errorf("%q: %w: %s: %w", r.Target.String(), bench.ErrNoTicks, r.target.Source.Name(), err)
		}
		return nil, err
	}
	elapsed := r.clock.Now() - r.begin
	return r.result(plan, elapsed)
}

func (r *duet) plan(slicing modulation.Slicing) *modulation.Plan {
	name := r.Target.String()
	elapsed := func() time.Duration { return r.clock.Now() - r.begin }
	return &modulation.Plan{
		Bench: r.Bench(slicing), Precision: r.Precision, Budget: r.Budget, Probe: r.Probe,
		Again: r.Again, Choosing: &modulation.Choosing{},
		Report: func(float64) { r.report(min(elapsed().Seconds()/r.Budget.Seconds(), 1), name) },
		Points: []modulation.Point{{
			States:  []modulation.State{bench.FirstAlone, bench.Together},
			Compare: []modulation.Comparison{{Name: besideNeighbor, Party: 0, On: 1, Off: 0, Effect: 1}},
			Share:   besideShare,
		}, {
			States: []modulation.State{bench.FirstAlone, bench.FirstAlone},
			Compare: []modulation.Comparison{{
				Name: control, Party: 0, On: 1, Off: 0,
				StandardError: math.Sqrt(besideShare) * r.Precision.WithDefaults().StandardError,
			}},
		}},
	}
}

// result returns what the plan found in the regime that it saw most.
func (r *duet) result(plan *modulation.Plan, elapsed time.Duration) (*DuetResult, error) {
	class := plan.Outcome.Complete(plan.Precision.Fewest)
	readings := plan.Outcome.Readings[class]
	if len(readings[besideNeighbor]) == 0 || len(readings[control]) == 0 {
		return nil, fmt.Errorf("%q: nothing was measured in %v: %d parts of the measurement were dropped because the CPUs moved, and %d because a program ended or stood still: repeat the measurement, or measure for longer",
			r.Target.String(), elapsed.Round(time.Millisecond), plan.Outcome.Dropped, plan.Outcome.Lost)
	}
	return &DuetResult{
		Ticks:  r.target.Source.Name(),
		Beside: modulation.Summarize(readings[besideNeighbor], r.Random), Control: modulation.Summarize(readings[control], r.Random),
		PausedShare: min(r.neighbor.PausedFor().Seconds()/elapsed.Seconds(), 1),
		Elapsed:     elapsed, Class: class, Dropped: circumstancesOf(plan.Outcome, class).dropped, Lost: plan.Outcome.Lost,
	}, nil
}
