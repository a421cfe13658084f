package advisor

import (
	"fmt"
	"math"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

const (
	// loadRounds bounds the search for how busy services are beside each other.
	loadRounds = 20
	// loadSettled is the relative change of a slowdown at which the search ends.
	loadSettled = 1e-3
)

// PredictLoads is Predict where members of the group are services under load. Loads are
// in requests per second, by member; 0 takes a member as it was measured. The answer is
// about the target as a service; nil where it has no load.
//
// A service that its neighbors stretch by s is as busy with a load λ as alone with s·λ,
// and causes the traffic of that load in s times the time. All slowdowns are therefore
// found together, by iteration. Loads of members that are no services are an error.
func (g *Group) PredictLoads(target int, loads []float64, explain bool) (predictor.Prediction, *service.Answer, error) {
	for i, load := range loads {
		if e := g.Entries[i]; load > 0 && e.Profile.Spec.Service == nil {
			return predictor.Prediction{}, nil, fmt.Errorf("%s has no load sweep: onboard it with --service", e.Application.Name())
		}
	}
	p, err := g.settle(target, loads, explain)
	if err != nil {
		return p, nil, err
	}
	p.Warnings = append(p.Warnings, g.withoutLoads(loads)...)
	measured := g.Entries[target].Profile.Spec.Service
	if loads[target] <= 0 {
		return p, nil, nil
	}
	answer, err := service.Beside(measured, loads[target], func(load float64) (service.Factor, error) {
		at := p
		if load != loads[target] {
			others := append([]float64(nil), loads...)
			others[target] = load
			var err error
			if at, err = g.settle(target, others, false); err != nil {
				return service.Factor{}, err
			}
		}
		return service.Factor{Slowdown: at.Slowdown, Low: at.Interval.Low, High: at.Interval.High}, nil
	})
	return p, &answer, err
}

// withoutLoads returns a warning about each service whose load is not said.
func (g *Group) withoutLoads(loads []float64) []string {
	var warnings []string
	for i, e := range g.Entries {
		if s := e.Profile.Spec.Service; s != nil && loads[i] <= 0 {
			warnings = append(warnings, fmt.Sprintf("%s: its load is not said: it is taken as it was measured, at %.6g requests per second",
				e.Application.Name(), s.Factors[len(s.Factors)-1].RequestsPerSecond))
		}
	}
	return warnings
}

// settle predicts the target with every service as busy as its slowdown makes it.
func (g *Group) settle(target int, loads []float64, explain bool) (predictor.Prediction, error) {
	slowdowns := make([]units.Slowdown, len(g.Entries))
	for i := range slowdowns {
		slowdowns[i] = 1
	}
	var p predictor.Prediction
	for range loadRounds {
		at, err := g.at(loads, slowdowns)
		if err != nil {
			return p, err
		}
		if p, err = at.Predict(target, explain); err != nil {
			return p, err
		}
		settled := true
		for i, e := range g.Entries {
			s, known := p.CorunnerSlowdowns[e.Application.Name()]
			if i == target {
				s, known = p.Slowdown, true
			}
			if loads[i] <= 0 || !known {
				continue
			}
			settled = settled && math.Abs(float64(s/slowdowns[i])-1) <= loadSettled
			slowdowns[i] = s
		}
		if settled {
			break
		}
	}
	return p, nil
}

// at returns the group with its services at loads, where each is slowed down so much.
func (g *Group) at(loads []float64, slowdowns []units.Slowdown) (*Group, error) {
	at := *g
	at.Entries = make([]Entry, len(g.Entries))
	for i, e := range g.Entries {
		if loads[i] <= 0 {
			at.Entries[i] = e
			continue
		}
		var err error
		if at.Entries[i], err = g.advisor.atLoad(e, loads[i], float64(slowdowns[i])*loads[i], g.Method); err != nil {
			return nil, err
		}
	}
	return &at, nil
}

// atLoad returns the entry of a service at a load, as busy as alone with the load busy.
func (a *Advisor) atLoad(e Entry, load, busy float64, m predictor.Method) (Entry, error) {
	p := service.At(e.Profile, load, busy)
	machine := p.Spec.Machine.Name
	at := compile(p, a.networks[machine], a.linkOf(machine), true)
	if err := at.Err(); err != nil {
		return at, err
	}
	at.State, at.Machine, at.Measured, at.Warnings = e.State, e.Machine, e.Measured, e.Warnings
	if m == predictor.Default && e.Application.Calibrated() {
		at.Application, at.Uncalibrated = a.calibrations.applyOnce(p, at.Application)
	}
	return at, nil
}
