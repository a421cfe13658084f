package score

import (
	"errors"
	"fmt"
	"sync/atomic"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/units"
)

// Load is a domain prepared for being asked about many newcomers. To its users it
// is immutable, and it is safe for concurrent use.
type Load struct {
	// aggregate is everyone there, for estimates. It comes first, next to what its
	// users look at before they ask.
	aggregate fast.Aggregate

	domain Domain
	apps   []*predictor.Application // residents, then the background if any
	// byModel and byCurves are the performances without a newcomer, in the way in which
	// they are predicted with it; nil until first asked for, as estimates do not need
	// them.
	byModel, byCurves atomic.Pointer[[]units.NormalizedPerformance]
}

// Residents returns who is there. The caller must not change it.
func (l *Load) Residents() []Job { return l.domain.Residents }

// cardOf returns the network card of an application of the load; that of the
// background does not matter.
func (l *Load) cardOf(i int) string {
	if i < len(l.domain.Residents) {
		return l.domain.Residents[i].Card
	}
	return ""
}

// Prepare prepares a domain. It fails on residents or a background that nobody
// could be.
func (s *Scorer) Prepare(d Domain) (*Load, error) {
	l := &Load{}
	if err := s.PrepareIn(l, d); err != nil {
		return nil, err
	}
	return l, nil
}

// PrepareIn is Prepare for a new load that is a part of something else.
func (s *Scorer) PrepareIn(l *Load, d Domain) error {
	var faults []error
	for _, r := range d.Residents {
		if err := r.validate(); err != nil {
			faults = append(faults, err)
		}
	}
	if b := d.Background; b != nil && !(b.Read.Valid() && b.Write.Valid()) {
		faults = append(faults, fmt.Errorf("domain %s: background of %+v: want finite rates of 0 or more", d.Name, *b))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	l.domain, l.apps = d, make([]*predictor.Application, 0, len(d.Residents)+1)
	for _, r := range d.Residents {
		options := s.options
		if d.Background != nil && !r.Unmeasured && options.Unknown == Assume {
			options.Unknown = Ignore
		}
		l.apps = append(l.apps, options.application(r))
	}
	if d.Background != nil && d.Background.Total() > 0 {
		background, err := predictor.Assumed("background", *d.Background)
		if err != nil {
			return fmt.Errorf("domain %s: %w", d.Name, err)
		}
		l.apps = append(l.apps, background)
	}
	return nil
}

// performances returns those of a load's applications without a newcomer: as co-runners,
// which they are with one, and by curves where they are predicted by curves with it: the
// difference between two ways to predict is not what a newcomer costs. Two that ask at the
// same time both predict.
func (s *Scorer) performances(l *Load, byCurves bool) []units.NormalizedPerformance {
	known := &l.byModel
	if byCurves {
		known = &l.byCurves
	}
	if before := known.Load(); before != nil {
		return *before
	}
	var before []units.NormalizedPerformance
	if len(l.apps) > 0 {
		before = make([]units.NormalizedPerformance, 0, len(l.apps))
		s.there = append(s.there[:0], l.apps...)
		for range servingRounds {
			before = s.workspace.MemoryCorunners(before[:0], s.there, byCurves)
			s.workspace.Communicate(before, s.there, l.cardOf)
			settled := true
			for i := range l.domain.Residents {
				settled = l.domain.Residents[i].settle(&s.there[i], before[i]) && settled
			}
			if settled {
				break
			}
		}
	}
	known.Store(&before)
	return before
}

// Background returns what is left of a measurement of a whole domain when the
// traffic that its residents are known to cause alone is taken away, reads and
// writes each, never below zero. Residents that slow each other down cause less
// than alone, so that the rest is rather too small than too large.
func Background(measured units.Traffic, residents []Job) units.Traffic {
	for _, r := range residents {
		if r.Application == nil {
			continue
		}
		traffic, _ := r.Application.Contentiousness()
		measured.Read = max(measured.Read-traffic.Read, 0)
		measured.Write = max(measured.Write-traffic.Write, 0)
	}
	return measured
}

// Tabulate completes a load for Estimate, with the model of each resident; nil for
// a resident that is known by its traffic at most. The load must not be in use yet.
func (s *Scorer) Tabulate(l *Load, models []*fast.Model) {
	everyone := make([]fast.Resident, 0, len(l.apps))
	for i, a := range l.apps {
		if i < len(models) && models[i] != nil {
			everyone = append(everyone, fast.Resident{Model: models[i], Weight: l.domain.Residents[i].CPUs})
			continue
		}
		traffic, _ := a.Contentiousness()
		everyone = append(everyone, fast.Steady(traffic))
	}
	l.aggregate.AddUp(everyone, s.options.Objective == WorstSlowdown)
}

// Estimate is about what ScoreLoad would give as Cost for a newcomer with these
// CPUs, in nanoseconds; a nil model counts as nothing. The load must have been
// completed by Tabulate. Load.Reliable says how good the estimate is.
func (l *Load) Estimate(newcomer *fast.Model, cpus float64) float64 {
	return l.aggregate.Estimate(newcomer, cpus)
}

// Reliable reports whether the estimate for a newcomer may stand for its score; see
// fast.Aggregate.
func (l *Load) Reliable(newcomer *fast.Model) bool { return l.aggregate.Reliable(newcomer) }
