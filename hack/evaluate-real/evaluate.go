package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
)

// evaluate makes profiles and pairs of the samples taken in the placement that
// is evaluated.
func (s *survey) evaluate(ctx context.Context, whole int) (*measured, error) {
	outcome, err := s.outcome(ctx, s.samples)
	if err != nil {
		return nil, err
	}
	m := &measured{
		Verified: &onboard.Verified{Machine: s.machine, Outcome: outcome},
		rounds:   whole, probes: map[string][]probeReading{},
	}
	for _, a := range s.experiment.Applications {
		profile, err := s.experiment.Profile(a, outcome, s.machine)
		if err != nil {
			return nil, err
		}
		m.Profiles = append(m.Profiles, profile)
		if m.probes[a.Name], err = s.readings(a, outcome); err != nil {
			return nil, err
		}
	}
	if m.Pairs, err = s.pairs(outcome); err != nil {
		return nil, err
	}
	if whole < 2 {
		return m, nil
	}
	for half := range m.halves {
		outcome, err := s.outcome(ctx, s.half(half))
		if err != nil {
			return nil, err
		}
		if m.halves[half], err = s.pairs(outcome); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// outcome is that of a plan whose samples have all been taken.
func (s *survey) outcome(ctx context.Context, samples []onboard.Sample) (*onboard.Outcome, error) {
	class := regime.Class(s.placement)
	plan := onboard.Plan{
		Conditions: s.conditions(),
		Precision:  onboard.Precision{MinRepeats: 1, MaxRepeats: 1},
		Tag:        func(context.Context) (regime.Tag, error) { return regime.Tag{Class: class}, nil },
		Random:     rand.New(rand.NewPCG(1, 1)),
	}
	plan.Restore(samples)
	return plan.Run(ctx)
}

// half are the solo controls and every second sample of the other conditions.
func (s *survey) half(which int) []onboard.Sample {
	var kept []onboard.Sample
	seen := map[onboard.Key]int{}
	for _, sample := range s.samples {
		if string(sample.Tag.Class) != s.placement {
			continue
		}
		if sample.Beside == "" || seen[sample.Key]%2 == which {
			kept = append(kept, sample)
		}
		seen[sample.Key]++
	}
	return kept
}

func (s *survey) pairs(o *onboard.Outcome) ([]onboard.Pair, error) {
	var all []onboard.Pair
	for _, target := range s.experiment.Applications {
		for _, corunner := range s.experiment.Applications {
			result, ok := o.Result(onboard.Key{Target: target.Name, Beside: besideApplication(corunner)})
			if !ok {
				return nil, fmt.Errorf("%s beside %s was not measured", target.Name, corunner.Name)
			}
			all = append(all, onboard.Pair{Target: target.Name, Corunner: corunner.Name, Result: result})
		}
	}
	return all, nil
}
