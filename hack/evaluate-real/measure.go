package main

import (
	"context"
	"errors"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

var (
	// shares and levels are the points of the curve families.
	shares = []units.ReadShare{0.5, 0.75, 1}
	levels = []float64{0.25, 0.5, 0.75, 1}
	// curvePrecision is that of these points, pairPrecision that of pairs.
	curvePrecision = modulation.Precision{StandardError: 0.008, Fewest: 8, Most: 300}
	pairPrecision  = modulation.Precision{StandardError: 0.006, Fewest: 12, Most: 1000}
)

const (
	// curveBudget bounds the time of one application under pressure.
	curveBudget = 15 * time.Second
	// shortestPair and longestPair bound the time of a pair at once.
	shortestPair, longestPair = 2 * time.Second, 12 * time.Second
	// enough is a standard error with which a pair is not measured again.
	enough = 0.0095
	// enoughPackaged is how many programs of packages are used: those that follow stand
	// in for programs that cannot be counted.
	enoughPackaged = 12
	// machineName is that of the profile.
	machineName = "evaluated"
)

func pressures() []pressure.Pressure { return pressure.Grid(shares, levels, interferer.Sequential) }

func (e *trial) machineOptions() onboard.MachineOptions {
	return onboard.MachineOptions{
		Name: machineName, ReadShares: shares, ProbeGrid: pressure.CalibrationGrid(true), Version: name,
		Precision: modulation.Precision{StandardError: 0.01, Fewest: 12, Most: 60},
	}
}

// machine returns the profile of the machine, measured once. Its regime is that of
// everything else.
func (e *trial) machine(ctx context.Context) (*v1alpha1.MachineProfile, regime.Class, error) {
	machine := &v1alpha1.MachineProfile{}
	known, err := e.load(machineFile, machine)
	if err == nil && !known {
		if machine, err = onboard.MeasureMachine(ctx, e.session, e.machineOptions()); err == nil {
			err = e.save(machineFile, machine)
		}
	}
	if err != nil {
		return nil, "", err
	}
	return machine, regime.Class(machine.Spec.Measurement.Regime.Name), nil
}

// onboard onboards the programs that have no profile yet. One that fails, as where
// the regime does not come back, is tried once more in the end.
func (e *trial) onboard(ctx context.Context) error {
	machine, class, err := e.machine(ctx)
	if err != nil {
		return err
	}
	var order []string
	for _, p := range e.programs {
		order = append(order, p.name)
	}
	if err := e.save(orderFile, order); err != nil {
		return err
	}
	left := e.programs
	packaged := 0
	for range 2 {
		var failed []program
		for _, p := range left {
			if p.debian != "" && packaged == enoughPackaged {
				continue
			}
			known, err := e.load(onboardedPrefix+p.name, &onboarded{})
			if err == nil && !known {
				err = e.onboardOne(ctx, p, machine, class)
			}
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, bench.ErrNoTicks):
				e.log("%s is left out: %v", p.name, err)
			case err != nil:
				e.log("%s: %v", p.name, err)
				failed = append(failed, p)
			default:
				packaged += p.packaged()
			}
		}
		left = failed
	}
	return nil
}

func (e *trial) onboardOne(ctx context.Context, p program, machine *v1alpha1.MachineProfile, class regime.Class) error {
	begin := time.Now()
	var counted onboard.Counted
	profile, _, err := (&onboard.Onboarding{
		Session: e.session, Application: p.application(), Wanted: pressures(), Known: machine, Machine: e.machineOptions(),
		Ticking: &onboard.Ticking{
			Precision: curvePrecision, Budget: curveBudget, Class: class,
			Learned: func(c onboard.Counted) { counted = c },
		},
	}).Run(ctx)
	if err != nil {
		return err
	}
	e.log("%s by %s, %.0f steps per second, %v", p.name, counted.Source.Name(), counted.Steps, time.Since(begin).Round(time.Second))
	return e.save(onboardedPrefix+p.name, newOnboarded(counted, profile, time.Since(begin).Seconds()))
}

// learned returns the programs that were onboarded, in order.
func (e *trial) learned() ([]onboard.Counted, error) {
	var all []onboard.Counted
	for _, p := range e.programs {
		o := &onboarded{}
		known, err := e.load(onboardedPrefix+p.name, o)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		c, err := o.counted(p.application())
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// measurePairs measures every pair once, and then again those that are not precise,
// as long as there is time.
func (e *trial) measurePairs(ctx context.Context, m *onboard.Modulator) error {
	_, class, err := e.machine(ctx)
	if err != nil {
		return err
	}
	all, err := e.learned()
	if err != nil {
		return err
	}
	until := e.until.Add(-e.compare)
	for pass := 0; pass == 0 || time.Now().Before(until); pass++ {
		var lacking [][2]onboard.Counted
		for i, a := range all {
			for _, b := range all[i:] {
				if !e.together(a.Application.Name, b.Application.Name) {
					continue
				}
				known := &pair{}
				if _, err := e.load(pairFile(a.Application.Name, b.Application.Name), known); err != nil {
					return err
				}
				if !known.precise() {
					lacking = append(lacking, [2]onboard.Counted{a, b})
				}
			}
		}
		e.log("%d pairs lack precision", len(lacking))
		if len(lacking) == 0 {
			return nil
		}
		for n, of := range lacking {
			left := max(time.Until(until)/time.Duration(len(lacking)-n)*5/4, shortestPair)
			if pass > 0 && time.Now().After(until) {
				return nil
			}
			if err := e.measurePair(ctx, m, of[0], of[1], class, min(left, longestPair)); err != nil {
				return err
			}
		}
	}
	return nil
}

// together reports whether two programs are measured beside each other: those of
// packages with each other, the samples with each other, and every program with a
// stream.
func (e *trial) together(one, other string) bool {
	const stream = "triad"
	return e.isPackaged(one) == e.isPackaged(other) || one == stream || other == stream
}

func (e *trial) isPackaged(name string) bool {
	return slices.ContainsFunc(e.programs, func(p program) bool { return p.name == name && p.debian != "" })
}

// precise reports whether both directions are.
func (p *pair) precise() bool {
	return p.Forward != nil && p.Backward != nil && max(p.Forward.StandardError, p.Backward.StandardError) <= enough
}

// measurePair measures a pair, or resumes it.
func (e *trial) measurePair(ctx context.Context, m *onboard.Modulator, a, b onboard.Counted, class regime.Class, budget time.Duration) error {
	one, other := a.Application, b.Application
	file := pairFile(one.Name, other.Name)
	p := &pair{First: one.Name, Second: other.Name, Class: class}
	if _, err := e.load(file, p); err != nil {
		return err
	}
	begin := time.Now()
	outcome, err := m.Pair(ctx, a, b, onboard.Wanted{Class: class, Precision: pairPrecision, Budget: budget, Outcome: p.Outcome})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		e.log("%v", err) // it is tried again
		if outcome == nil {
			return nil
		}
	}
	p.Outcome, p.Seconds = outcome, p.Seconds+time.Since(begin).Seconds()
	p.Forward, p.Backward = e.corun(outcome, class, one, other), e.corun(outcome, class, other, one)
	return e.save(file, p)
}

func (e *trial) corun(o *modulation.Outcome, class regime.Class, target, corunner onboard.Application) *result {
	return newResult(onboard.CorunResult(e.session, o, class, target, corunner))
}

// newResult returns nil for too few readings.
func newResult(r sampling.Result, ok bool) *result {
	if !ok || r.Repeats < pairPrecision.Fewest {
		return nil
	}
	return &result{Performance: float64(r.NormalizedPerformance), StandardError: r.StandardError, Readings: r.Repeats}
}
