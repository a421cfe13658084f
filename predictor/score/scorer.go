package score

import (
	"errors"
	"slices"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Scorer scores placements; it keeps memory from one to the next. The zero
// value scores with the zero Options. It serves one goroutine at a time.
type Scorer struct {
	options   Options
	workspace predictor.Workspace
	apps      []*predictor.Application
	before    []units.NormalizedPerformance
	after     []units.NormalizedPerformance
}

// New returns a Scorer; it fails on options that do not validate.
func New(o Options) (*Scorer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Scorer{options: o}, nil
}

// Score says what placing the newcomer in the domain would do.
func (s *Scorer) Score(newcomer Job, d Domain) (Score, error) {
	faults := []error{newcomer.validate()}
	for _, r := range d.Residents {
		faults = append(faults, r.validate())
	}
	if err := errors.Join(faults...); err != nil {
		return Score{}, err
	}
	s.predict(newcomer, d.Residents)
	result := Score{Domain: d.Name, Objective: s.options.Objective, Residents: make([]Effect, len(d.Residents))}
	if result.Objective == "" {
		result.Objective = AddedCost
	}
	result.Newcomer = effect(newcomer, 1, s.after[0].Slowdown())
	for i, r := range d.Residents {
		result.Residents[i] = effect(r, s.before[i].Slowdown(), s.after[i+1].Slowdown())
	}
	known, unknown := 0, 0
	for _, e := range result.effects() {
		switch result.Objective {
		case WorstSlowdown:
			result.Cost = max(result.Cost, float64(e.After)-1)
		default:
			result.Cost += e.Cost
		}
		if e.OverLimit() {
			result.OverLimit++
		}
		if e.Known {
			known++
		} else {
			unknown++
		}
	}
	// Unknown jobs among themselves are as well off as anywhere.
	result.Avoided = s.options.Unknown == Avoid && known > 0 && unknown > 0
	return result, nil
}

// Rank scores every domain and returns the scores from best to worst; of equal
// ones the domain listed first comes first.
func (s *Scorer) Rank(newcomer Job, domains []Domain) ([]Score, error) {
	scores := make([]Score, len(domains))
	var faults []error
	for i, d := range domains {
		var err error
		if scores[i], err = s.Score(newcomer, d); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(scores, Compare)
	return scores, nil
}

// predict fills in the performance of the residents before, and of newcomer and
// residents after.
func (s *Scorer) predict(newcomer Job, residents []Job) {
	s.apps = append(s.apps[:0], s.application(newcomer))
	for _, r := range residents {
		s.apps = append(s.apps, s.application(r))
	}
	s.after = s.workspace.Performances(s.after[:0], s.apps)
	s.before = s.before[:0]
	if len(residents) > 0 {
		s.before = s.workspace.Performances(s.before, s.apps[1:])
	}
}

// application returns what the policy takes for a job.
func (s *Scorer) application(j Job) *predictor.Application {
	switch {
	case j.known():
		return j.Application
	case s.options.Unknown == Assume:
		return s.options.StandIn
	case j.Application != nil:
		return j.Application
	}
	return predictor.Unprofiled(j.Name)
}

func effect(j Job, before, after units.Slowdown) Effect {
	return Effect{
		Job: j.Name, Before: before, After: after, Limit: j.Limit, Known: j.known(),
		Cost: j.CPUs * float64(after-before),
	}
}
