package score

import (
	"errors"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

// Scorer scores placements; it keeps memory from one to the next. The zero
// value scores with the zero Options. It serves one goroutine at a time.
type Scorer struct {
	options   Options
	workspace predictor.Workspace
	apps      []*predictor.Application // the newcomer, then who is there
	there     []*predictor.Application
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
	l, err := s.Prepare(d)
	if err != nil {
		return Score{}, errors.Join(newcomer.validate(), err)
	}
	return s.ScoreLoad(newcomer, l)
}

// ScoreLoad is Score for a domain that was prepared, by any Scorer of the same
// Options.
func (s *Scorer) ScoreLoad(newcomer Job, l *Load) (Score, error) {
	if err := newcomer.validate(); err != nil {
		return Score{}, err
	}
	s.apps = append(append(s.apps[:0], s.options.application(newcomer)), l.apps...)
	before := s.performances(l, predictor.ByCurves(s.apps))
	residents := l.domain.Residents
	var parts []communication.Parts
	for range servingRounds {
		s.after = s.workspace.MemoryPerformances(s.after[:0], s.apps)
		parts = s.workspace.Communicate(s.after, s.apps, func(i int) string {
			if i == 0 {
				return newcomer.Card
			}
			return l.cardOf(i - 1)
		})
		settled := newcomer.settle(&s.apps[0], s.after[0])
		for i := range residents {
			settled = residents[i].settle(&s.apps[i+1], s.after[i+1]) && settled
		}
		if settled {
			break
		}
	}

	result := Score{Domain: l.domain.Name, Objective: s.options.Objective, Residents: make([]Effect, len(residents))}
	if result.Objective == "" {
		result.Objective = AddedCost
	}
	result.Newcomer = effect(newcomer, 1, s.after[0].Slowdown())
	result.Newcomer.newcomer = true
	for i, r := range residents {
		result.Residents[i] = effect(r, before[i].Slowdown(), s.after[i+1].Slowdown())
	}
	if parts != nil {
		result.Newcomer.Parts = parts[0]
		for i := range residents {
			result.Residents[i].Parts = parts[i+1]
		}
	}
	result.sum(s.options.Unknown)
	return result, nil
}

// servingRounds bounds the search for how busy services are beside each other. It rises
// from the services alone, and seldom takes more than three.
const servingRounds = 20

// settle makes a service as busy as its performance p makes it, and reports whether it
// was already.
func (j *Job) settle(app **predictor.Application, p units.NormalizedPerformance) bool {
	if j.Serving == nil || !j.Known() {
		return true
	}
	busy := j.Serving.At(p.Slowdown())
	if busy == (*app).In(predictor.AnyCache) {
		return true
	}
	*app = busy.In(j.Caches)
	return false
}

// sum fills in what follows from the effects.
func (s *Score) sum(unknownJobs Policy) {
	known, unknown := 0, 0
	add := func(e *Effect) {
		switch s.Objective {
		case WorstSlowdown:
			s.Cost = max(s.Cost, float64(e.After)-1)
		default:
			s.Cost += e.Cost
		}
		if e.OverLimit() {
			s.OverLimit++
		}
		if e.Known {
			known++
		} else {
			unknown++
		}
	}
	add(&s.Newcomer)
	for i := range s.Residents {
		add(&s.Residents[i])
	}
	// Unknown jobs among themselves are as well off as anywhere.
	s.Avoided = unknownJobs == Avoid && known > 0 && unknown > 0
}

// application returns what the options take for a job, where the job runs.
func (o *Options) application(j Job) *predictor.Application {
	return o.anywhere(j).In(j.Caches)
}

// anywhere is application without a place.
func (o *Options) anywhere(j Job) *predictor.Application {
	switch {
	case j.Known():
		return j.Application
	case o.Unknown == Assume && !j.contentious():
		return o.StandIn
	case j.Application != nil:
		return j.Application
	}
	return predictor.Unprofiled(j.Name)
}

func effect(j Job, before, after units.Slowdown) Effect {
	return Effect{
		Job: j.Name, Before: before, After: after, Limit: j.Limit, Known: j.Known(),
		Cost: j.CPUs * float64(after-before),
	}
}
