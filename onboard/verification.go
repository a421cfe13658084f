package onboard

import (
	"context"
	"fmt"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
)

// Verification onboards applications and runs every ordered pair of them for
// real, all in one placement regime, so that predictions can be compared with
// the truth.
type Verification struct {
	// Experiment's pressures are measured by Run when it has none.
	Experiment *Experiment
	// Wanted are the points of the curve families.
	Wanted []pressure.Pressure
	// Pairs reports whether an ordered pair is run; nil runs all.
	Pairs func(target, corunner string) bool
	// Known is the machine's profile; nil when it is to be measured, as Machine
	// says. Run sets it.
	Known   *v1alpha1.MachineProfile
	Machine MachineOptions
	// Precision of each condition.
	Precision sampling.Precision
	Reporter  sampling.Reporter
	// Keep is called with every kept sample; may be nil.
	Keep func(sampling.Sample) error
	// Restored are samples of an earlier, interrupted run.
	Restored []sampling.Sample
}

// Verified is the result of a verification.
type Verified struct {
	Machine  *v1alpha1.MachineProfile
	Profiles []*v1alpha1.ApplicationProfile
	Pairs    []Pair
	Outcome  *sampling.Outcome
}

// Pair is a real co-run: the performance of the target beside the co-runner.
type Pair struct {
	Target, Corunner string
	sampling.Result
}

// Run takes all samples.
func (v *Verification) Run(ctx context.Context) (verified *Verified, err error) {
	e := v.Experiment
	s := e.Session
	for _, a := range e.Applications {
		if _, err := e.CheckDuration(ctx, a); err != nil {
			return nil, err
		}
	}
	if e.Pressures == nil {
		if e.Pressures, err = s.MeasurePressures(ctx, pressure.WithProbes(v.Wanted)); err != nil {
			return nil, err
		}
	}
	if v.Known == nil {
		if v.Known, err = MeasureMachine(ctx, s, v.Machine); err != nil {
			return nil, err
		}
	}
	plan := sampling.Plan{
		Conditions: slices.Concat(e.Conditions(), v.corunConditions()),
		Precision:  v.Precision, Reporter: v.Reporter, Keep: v.Keep,
		Tag: s.Tag, Random: s.Random,
	}
	plan.Restore(v.Restored)
	outcome, err := plan.Run(ctx)
	if err != nil {
		return nil, err
	}
	if lacksProbes(v.Known, outcome.Class) {
		if v.Known, err = AddProbeMap(ctx, s, v.Known, v.Machine, outcome.Class); err != nil {
			return nil, err
		}
	}
	return v.collect(outcome)
}

func (v *Verification) collect(o *sampling.Outcome) (*Verified, error) {
	e, machine := v.Experiment, v.Known
	verified := &Verified{Machine: machine, Outcome: o}
	for _, a := range e.Applications {
		profile, err := e.Profile(a, o, machine)
		if err != nil {
			return nil, err
		}
		verified.Profiles = append(verified.Profiles, profile)
	}
	for _, target := range e.Applications {
		for _, corunner := range e.Applications {
			if !v.runs(target, corunner) {
				continue
			}
			result, ok := o.Result(sampling.Key{Target: target.Name, Beside: corunLabel(corunner)})
			if !ok {
				return nil, fmt.Errorf("%s beside %s was not measured", target.Name, corunner.Name)
			}
			verified.Pairs = append(verified.Pairs, Pair{Target: target.Name, Corunner: corunner.Name, Result: result})
		}
	}
	return verified, nil
}

func (v *Verification) runs(target, corunner Application) bool {
	return v.Pairs == nil || v.Pairs(target.Name, corunner.Name)
}

// corunConditions returns the ordered pairs of applications.
func (v *Verification) corunConditions() []sampling.Condition {
	e := v.Experiment
	var all []sampling.Condition
	for _, target := range e.Applications {
		for _, corunner := range e.Applications {
			if !v.runs(target, corunner) {
				continue
			}
			all = append(all, sampling.Condition{
				Target: target.Name,
				Beside: corunLabel(corunner),
				Run: func(ctx context.Context) (sampling.Observation, error) {
					return e.Session.RunBesideCommand(ctx, target.Command, corunner.Command)
				},
			})
		}
	}
	return all
}

// corunLabel returns a label that no pressure has.
func corunLabel(a Application) string { return "application " + a.Name }
