package onboard

import (
	"context"
	"errors"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
)

// Onboarding measures one application, and with it what the machine's profile
// lacks for the placement regime that turns out to hold.
type Onboarding struct {
	Session     *bench.Session
	Application Application
	// Wanted are the points of the curve family.
	Wanted    []pressure.Pressure
	Precision sampling.Precision
	// Known is the machine's profile; nil when it has never been measured.
	Known *v1alpha1.MachineProfile
	// Machine says how to measure what Known lacks.
	Machine  MachineOptions
	Reporter sampling.Reporter
	// Source measures the application's traffic with counters; nil has it
	// inferred from the curves.
	Source profiler.Source
	// Keep is called with every kept sample; may be nil.
	Keep func(sampling.Sample) error
	// Restored are samples of an earlier, interrupted run.
	Restored []sampling.Sample
	// Adaptive has the pressures chosen among those wanted; nil measures all.
	Adaptive *Adaptivity
	// Ticking has the application measured within its runs; nil times whole
	// runs. Not together with Adaptive, Restored or a command with Iterations.
	Ticking *Ticking
}

// strategy is a way to find what an application loses beside each pressure. The
// plan that takes its samples is the same for all of them.
type strategy interface {
	// begin returns the conditions to measure first, and how precisely.
	begin() ([]sampling.Condition, sampling.Precision)
	// next returns a further condition that the outcome so far asks for, nil when
	// it suffices.
	next(o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*sampling.Condition, error)
	// profile returns the application's profile.
	profile(o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error)
}

// Run returns the application's profile and the machine's, which is Known
// itself when it lacked nothing.
func (b *Onboarding) Run(ctx context.Context) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	if b.Ticking != nil {
		if b.Adaptive != nil || len(b.Restored) > 0 || b.Application.Command.Iterations > 1 {
			return nil, nil, errors.New("ticks are counted within single runs beside every pressure: leave out adaptivity, iterations and earlier samples")
		}
		return b.runTicked(ctx)
	}
	samples, err := b.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	machine = b.Known
	if machine == nil {
		if machine, err = MeasureMachine(ctx, b.Session, b.Machine); err != nil {
			return nil, nil, err
		}
	}
	// Traffic is inferred in a placement for which the probes are calibrated. When
	// none of them comes back, they are calibrated for another.
	anywhere := b.Source != nil || calibratedPlacement(machine) == ""
	needed := func(class regime.Class) bool { return anywhere || !lacksProbes(machine, class) }
	plan := sampling.Plan{Tag: b.Session.Tag, Reporter: b.Reporter, Random: b.Session.Random, Keep: b.Keep}
	plan.Conditions, plan.Precision = samples.begin()
	for i := range plan.Conditions {
		plan.Conditions[i].Needed = needed
	}
	plan.Restore(b.Restored)
	for {
		outcome, err := plan.Run(ctx)
		if errors.Is(err, sampling.ErrRegimeLeft) && !anywhere {
			anywhere = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		next, err := samples.next(outcome, machine)
		if err != nil {
			return nil, nil, err
		}
		if next != nil {
			next.Needed = needed
			plan.Conditions = append(plan.Conditions, *next)
			continue
		}
		if b.Source == nil && lacksProbes(machine, outcome.Class) {
			if machine, err = AddProbeMap(ctx, b.Session, machine, b.Machine, outcome.Class); err != nil {
				return nil, nil, err
			}
		}
		profile, err = samples.profile(outcome, machine)
		return profile, machine, err
	}
}

// prepare runs the application alone, measures its traffic and the pressures, and
// returns the strategy that was asked for.
func (b *Onboarding) prepare(ctx context.Context) (strategy, error) {
	e := &Experiment{Session: b.Session, Applications: []Application{b.Application}, Version: b.Machine.Version}
	if _, err := e.CheckDuration(ctx, b.Application); err != nil {
		return nil, err
	}
	if b.Source != nil {
		traffic, err := e.MeasureTraffic(ctx, b.Application, b.Source)
		if err != nil {
			return nil, err
		}
		e.Traffic = map[string]*profiler.Summary{b.Application.Name: traffic}
	}
	if err := e.MeasureDistance(ctx, b.Application, b.Source); err != nil {
		return nil, err
	}
	var err error
	if e.Pressures, err = b.Session.MeasurePressures(ctx, pressure.WithProbes(b.Wanted)); err != nil {
		return nil, err
	}
	if b.Adaptive != nil {
		return &adaptiveSampling{Onboarding: b, experiment: e}, nil
	}
	return wholeRuns{b, e}, nil
}

// soloConditions are the solo controls that samplings of other kinds begin with.
func (b *Onboarding) soloConditions(e *Experiment) ([]sampling.Condition, sampling.Precision) {
	return []sampling.Condition{e.soloCondition(b.Application)}, sampling.Precision{MinRepeats: 1, MaxRepeats: 1, MinSolos: firstSolos}
}

// firstSolos is the number of solo controls before runs that are compared with
// their median.
const firstSolos = 3

// wholeRuns times whole runs beside every pressure.
type wholeRuns struct {
	*Onboarding
	experiment *Experiment
}

func (w wholeRuns) begin() ([]sampling.Condition, sampling.Precision) {
	return w.experiment.Conditions(), w.Precision
}

func (wholeRuns) next(*sampling.Outcome, *v1alpha1.MachineProfile) (*sampling.Condition, error) {
	return nil, nil
}

func (w wholeRuns) profile(o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	return w.experiment.Profile(w.Application, o, machine)
}

// calibratedPlacement returns a placement for which the probes of the machine are
// calibrated, preferably that of its own measurement; empty when there is none.
func calibratedPlacement(machine *v1alpha1.MachineProfile) regime.Class {
	classes := regime.Classes()
	if r := machine.Spec.Measurement.Regime; r != nil {
		classes = slices.Insert(classes, 0, regime.Class(r.Name))
	}
	for _, class := range classes {
		if !lacksProbes(machine, class) {
			return class
		}
	}
	return ""
}

// lacksProbes reports whether a machine has no usable probe map for a regime.
func lacksProbes(machine *v1alpha1.MachineProfile, class regime.Class) bool {
	probes, err := ProbeMap(machine, class)
	return err != nil || probes == nil
}
