package onboard

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
)

// Onboarding measures one application, and with it what the machine's profile
// lacks for the placement regime that turns out to hold.
type Onboarding struct {
	Session     *Session
	Application Application
	// Wanted are the points of the curve family.
	Wanted    []Pressure
	Precision Precision
	// Known is the machine's profile; nil when it has never been measured.
	Known *v1alpha1.MachineProfile
	// Machine says how to measure what Known lacks.
	Machine  MachineOptions
	Reporter Reporter
	// Source measures the application's traffic with counters; nil has it
	// inferred from the curves.
	Source profiler.Source
	// Keep is called with every kept sample; may be nil.
	Keep func(Sample) error
	// Restored are samples of an earlier, interrupted run.
	Restored []Sample
	// Adaptive has the pressures chosen among those wanted; nil measures all.
	Adaptive *Adaptivity
	// Watch has the progress watched; nil times whole runs. Not together with
	// Adaptive, Restored or a command with Iterations.
	Watch *Watch
}

// Run returns the application's profile and the machine's, which is Known
// itself when it lacked nothing.
func (b *Onboarding) Run(ctx context.Context) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	experiment := &Experiment{Session: b.Session, Applications: []Application{b.Application}, Version: b.Machine.Version}
	var alone pace
	if b.Watch != nil {
		if b.Adaptive != nil || b.Application.Command.Iterations > 1 {
			return nil, nil, fmt.Errorf("progress is watched in single runs beside every pressure: leave out adaptivity and iterations")
		}
		alone, err = b.measurePace(ctx)
	} else {
		_, err = experiment.CheckDuration(ctx, b.Application)
	}
	if err != nil {
		return nil, nil, err
	}
	if b.Source != nil {
		traffic, err := experiment.MeasureTraffic(ctx, b.Application, b.Source)
		if err != nil {
			return nil, nil, err
		}
		experiment.Traffic = map[string]*profiler.Summary{b.Application.Name: traffic}
	}
	if experiment.Pressures, err = b.Session.MeasurePressures(ctx, WithProbes(b.Wanted)); err != nil {
		return nil, nil, err
	}
	if b.Adaptive != nil {
		return b.runAdaptive(ctx, experiment)
	}
	if b.Watch != nil {
		return b.runWatched(ctx, experiment, alone)
	}
	calibration := b.Session.NewCalibration(b.Machine.ProbeGrid)
	defer func() { err = errors.Join(err, calibration.Close()) }()
	plan := Plan{
		Conditions: experiment.Conditions(), Precision: b.Precision,
		Tag: b.Session.Tag, Reporter: b.Reporter, Random: b.Session.Random, Keep: b.Keep,
	}
	if b.Known == nil {
		plan.Conditions = append(plan.Conditions, b.Session.sustainedConditions(b.Machine.ReadShares)...)
	}
	plan.Conditions = append(plan.Conditions, calibration.Conditions(b.lacksProbes)...)
	plan.Restore(b.Restored)
	outcome, err := plan.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	if machine, err = b.complete(ctx, calibration, outcome); err != nil {
		return nil, nil, err
	}
	profile, err = experiment.Profile(b.Application, outcome, machine)
	return profile, machine, err
}

// lacksProbes reports whether the known machine has no probe map for a regime.
func (b *Onboarding) lacksProbes(class regime.Class) bool {
	if b.Known == nil {
		return true
	}
	probes, err := ProbeMap(b.Known, class)
	return err != nil || probes == nil
}

// complete adds to the machine's profile what the plan measured of it.
func (b *Onboarding) complete(ctx context.Context, c *Calibration, o *Outcome) (*v1alpha1.MachineProfile, error) {
	if b.Known == nil {
		return b.Session.machineProfile(ctx, b.Machine, c, o)
	}
	if !b.lacksProbes(o.Class) {
		return b.Known, nil
	}
	points, err := c.Points(ctx, o)
	if err != nil {
		return nil, err
	}
	machine := b.Known.DeepCopy()
	machine.Spec.ProbeMap = append(machine.Spec.ProbeMap, points...)
	return machine, nil
}
