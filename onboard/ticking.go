package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Ticking has an application measured within its runs, by the rate of its ticks.
type Ticking struct {
	// Source counts the ticks; nil has it found out.
	Source ticks.Source
	// Precision of each point.
	Precision modulation.Precision
	// Budget bounds the time under pressure, but for one whole run; 0 means half a
	// minute.
	Budget time.Duration
	// Class is the only placement regime that counts; empty for whichever lasts.
	Class regime.Class
	// Learned is told how the work of the application is counted, once it has been
	// held to whole runs; may be nil.
	Learned func(Counted)
	// Report is told the share of the work that is done, 0 to 1, and what runs
	// now; may be nil.
	Report func(share float64, what string)
}

// ticked measures one application by its ticks.
type ticked struct {
	*Onboarding
	*bench.Stage
	experiment *Experiment
	// solo holds the times of the runs alone.
	solo []float64
	// counted is the last count of the last of these runs.
	counted float64
	// perSecond is how often the count changes while the program runs alone.
	perSecond float64
	// slicing is that of the measurements under pressure.
	slicing modulation.Slicing
	// warning says that slices are too short for the whole effect of a pressure; empty
	// where they are not.
	warning string
	// begin is when the onboarding began, and schedule tells how much of it is done.
	begin    time.Time
	schedule *schedule
}

// runTicked is Run by ticks. The error wraps ErrNoTicks where there are none.
func (b *Onboarding) runTicked(ctx context.Context) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	apart := time.Duration(0)
	t := &ticked{
		Onboarding: b, begin: time.Now(),
		experiment: &Experiment{Session: b.Session, Applications: []Application{b.Application}, Version: b.Machine.Version},
	}
	_, cached := t.holding(b.Ticking.Class)
	t.schedule = newSchedule(t.budget(), b.Known != nil, cached)
	if t.Stage, err = b.Session.OpenStage(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.Stage.Close()) }()
	target := t.Program(b.Application.Command, nil, true)
	t.tell(learning, 0, b.Application.Name+" alone")
	if err := t.choose(ctx, target); err != nil {
		return nil, nil, err
	}
	t.schedule.learned(lastOf(t.solo))
	if err := t.measureTraffic(ctx); err != nil {
		return nil, nil, err
	}
	t.tell(learning, 0.75, "the interferer alone")
	if t.experiment.Pressures, err = b.Session.MeasurePressures(ctx, pressure.WithProbes(b.Wanted)); err != nil {
		return nil, nil, err
	}
	machine = b.Known
	if machine == nil {
		options := b.Machine
		options.Report = func(share float64, what string) { t.tell(measuringMachine, share, what) }
		measuring := time.Now()
		machine, err = measureMachine(ctx, t.Stage, options)
		if err != nil {
			return nil, nil, err
		}
		apart = time.Since(measuring)
	}
	u, err := t.newUnderPressure(target)
	if err != nil {
		return nil, nil, err
	}
	if err := t.modulate(ctx, u, machine); err != nil {
		return nil, nil, err
	}
	outcome := u.plan.Outcome
	class := outcome.Complete(b.Ticking.Precision.WithDefaults().Fewest)
	if b.Source == nil && lacksProbes(machine, class) {
		if class, machine, err = t.sameAsProbes(ctx, u, machine, class); err != nil {
			return nil, nil, err
		}
	}
	profile, err = t.profile(ctx, outcome, class, machine)
	if err != nil {
		return nil, nil, err
	}
	profile.Spec.Measurement.Ticks = target.Source.Name()
	if err := t.addInCache(ctx, target, class, time.Since(t.begin)-apart, profile); err != nil {
		return nil, nil, err
	}
	if len(profile.Spec.Cache) > 0 && machine.Spec.SharedCache == nil {
		machine = machine.DeepCopy()
		machine.Spec.SharedCache = sharedCache(b.Session.Machine)
	}
	if t.Ticking.Learned != nil {
		t.Ticking.Learned(Counted{t.Application, target.Source, t.perSecond, t.slicing, target.Equal})
	}
	return profile, machine, nil
}

// tell reports that a part of a stretch is done, 0 to 1, and what runs now.
func (t *ticked) tell(now stretch, done float64, what string) {
	if t.Ticking.Report != nil {
		t.Ticking.Report(t.schedule.share(time.Since(t.begin), now, done), what)
	}
}

// budget bounds the time under pressure.
func (t *ticked) budget() time.Duration { return cmp.Or(t.Ticking.Budget, defaultBudget) }

// measureTraffic measures the application's traffic by counters, where there are
// any, and the application as a co-runner, where that is farther from the memory.
func (t *ticked) measureTraffic(ctx context.Context) error {
	if err := t.experiment.MeasureDistance(ctx, t.Application, t.Source); err != nil {
		return err
	}
	if t.Source == nil {
		return nil
	}
	traffic, err := t.experiment.MeasureTraffic(ctx, t.Application, t.Source)
	if err != nil {
		return err
	}
	t.experiment.Traffic = map[string]*profiler.Summary{t.Application.Name: traffic}
	return nil
}

// probePart is how much more precise than the application's performance the speed of a
// probe is measured, from which traffic is inferred: a tenth of the sustained bandwidth
// slows it by some points only.
const probePart = 0.5

// defaultBudget is enough for steady ticks: others show what they can in it, and where
// others hold the CPUs some blocks of every point are taken all the same.
const defaultBudget = 30 * time.Second

// calibratedPatience is how long a placement for which the probes are calibrated is
// waited for in all, before they are calibrated for another.
const calibratedPatience = 5 * time.Second

// underPressure is a program beside every pressure.
type underPressure struct {
	target *bench.Program
	second *bench.Stream
	plan   *modulation.Plan
}

// newUnderPressure says how the program is measured, for one whole run at least.
func (t *ticked) newUnderPressure(target *bench.Program) (*underPressure, error) {
	second := t.Stream()
	t.Parties = [2]modulation.Party{target, second}
	slicing, err := modulation.SlicingFor(t.perSecond)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", bench.ErrNoTicks, target.Source.Name(), err)
	}
	plan := &modulation.Plan{
		Bench: t.Bench(slicing), Precision: t.Ticking.Precision, Probe: t.Probe, Again: target.Again,
		Whole:  func() bool { return target.Completed > 0 },
		Class:  t.Ticking.Class,
		Budget: t.budget(),
		Least:  leastCalibrated, Sharing: sharing,
		Report: func(done float64) {
			part := t.budget().Seconds() / t.schedule.expected[pressing].Seconds()
			t.tell(pressing, part*done, t.Application.Name+" under pressure")
		},
	}
	for _, p := range t.experiment.Pressures {
		point := pressurePoint(t.Application.Name, p, second)
		point.Compare[1].StandardError = probePart * t.Ticking.Precision.WithDefaults().StandardError
		plan.Points = append(plan.Points, point)
	}
	t.choosing(plan)
	plan.Points = append(plan.Points, controlPoint(t.Application.Name))
	return &underPressure{target, second, plan}, nil
}

// modulate measures the program, preferably in a placement for which the probes are
// calibrated.
func (t *ticked) modulate(ctx context.Context, u *underPressure, machine *v1alpha1.MachineProfile) (err error) {
	if u.plan.Class == "" && t.Source == nil {
		u.plan.Class, u.plan.MostWaited = calibratedPlacement(machine), calibratedPatience
	}
	u.target.Completed = 0
	if err := u.target.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.target.Stop()) }()
	err = t.Stage.Run(ctx, u.plan)
	if errors.Is(err, modulation.ErrRegimeLeft) && u.plan.Class != t.Ticking.Class {
		u.plan.Class = ""
		err = t.Stage.Run(ctx, u.plan)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	return t.compareLengths(ctx, u)
}

// modulateIn measures the program in a placement, and does not wait long for it.
func (t *ticked) modulateIn(ctx context.Context, u *underPressure, class regime.Class) (err error) {
	if err := u.target.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.target.Stop()) }()
	u.plan.Class, u.plan.MostWaited, u.plan.Patience = class, 0, calibratedPatience
	if err := t.Stage.Run(ctx, u.plan); err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	t.slicing = u.plan.Slicing(class)
	return nil
}

// sameAsProbes returns a placement in which the program was measured and the machine, which
// is returned with it, has probes. It starts from one for which they are missing: either they
// are calibrated for it, or the program is measured again in one for which they are there.
func (t *ticked) sameAsProbes(ctx context.Context, u *underPressure, machine *v1alpha1.MachineProfile, class regime.Class) (regime.Class, *v1alpha1.MachineProfile, error) {
	probing, err := newProbing(ctx, t.Stage, t.Machine, class)
	if err != nil {
		return "", nil, err
	}
	calibrated := calibratedPlacement(machine)
	if calibrated == "" {
		if err := probing.take(ctx); err != nil {
			return "", nil, err
		}
		machine, err = probing.addTo(machine)
		return class, machine, err
	}
	probing.plan.Patience = calibratedPatience
	n, err := firstPlacement(ctx, probing.take, func(ctx context.Context) error { return t.modulateIn(ctx, u, calibrated) })
	if err != nil {
		return "", nil, err
	}
	if n == 0 {
		machine, err = probing.addTo(machine)
		return class, machine, err
	}
	return calibrated, machine, nil
}

// strongest returns the pressure beside which the application loses most; false where it was
// measured beside none.
func (t *ticked) strongest(e *estimator) (strongest pressure.Measured, ok bool) {
	lowest := math.Inf(1)
	for _, p := range t.experiment.Pressures {
		if r, ok := e.result(t.Application.Name, p.String()); ok && float64(r.NormalizedPerformance) < lowest {
			strongest, lowest = p, float64(r.NormalizedPerformance)
		}
	}
	return strongest, !math.IsInf(lowest, 1)
}

// profile makes the profile, after a check against whole runs.
func (t *ticked) profile(ctx context.Context, outcome *modulation.Outcome, class regime.Class, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	e := &estimator{readings: outcome.Readings[class], session: t.Stage.Session}
	name := t.Application.Name
	curves, err := e.curves(name, t.experiment.Pressures)
	if err != nil {
		return nil, err
	}
	check, err := t.check(ctx, outcome, class)
	if err != nil {
		return nil, err
	}
	profile, err := t.experiment.profile(t.Application, measured{
		circumstances: circumstancesOf(outcome, class), solo: sampling.Timing(t.solo), curves: curves, readings: e.probeReadings(name, t.experiment.Pressures),
	}, machine)
	if err != nil {
		return nil, err
	}
	if r, ok := e.result(name, control); ok && r.Spread != nil {
		c := v1alpha1.Control{NormalizedPerformance: float64(r.NormalizedPerformance), StandardError: r.StandardError}
		profile.Spec.Measurement.Control = &c
		if math.Abs(c.NormalizedPerformance-1) > controlTolerance*max(c.StandardError, leastControlError) {
			profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
				"control: with nothing beside it the performance came out as %.3f ± %.3f instead of 1: the curves may be off by as much", c.NormalizedPerformance, c.StandardError))
		}
	}
	if worst := worstError(curves); worst > impreciseFactor*t.Ticking.Precision.WithDefaults().StandardError {
		profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
			"ticks: the standard error of some points is %.1f points: the ticks are few or unequal; --progress-function or another --progress flag may name better ones", 100*worst))
	}
	if t.warning != "" {
		profile.Spec.Warnings = append(profile.Spec.Warnings, t.warning)
	}
	if check != "" {
		profile.Spec.Warnings = append(profile.Spec.Warnings, check)
	}
	return profile, nil
}

const (
	// controlTolerance is how many standard errors a control may miss 1 by.
	controlTolerance = 3
	// leastControlError keeps a standard error that is small by luck from failing a
	// control.
	leastControlError = 0.002
)

// impreciseFactor is how many times the wanted standard error is worth a warning.
const impreciseFactor = 2.5

// worstError returns the largest standard error of points.
func worstError(curves []v1alpha1.SensitivityCurve) float64 {
	worst := 0.0
	for _, c := range curves {
		for _, p := range c.Points {
			if p.Spread != nil && p.Repeats > 0 {
				worst = max(worst, *p.Spread/math.Sqrt(float64(p.Repeats)))
			}
		}
	}
	return worst
}
