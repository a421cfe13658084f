package advisor

import (
	"context"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
)

// loadRounds bounds the search for how busy services are beside each other.
const loadRounds = 20

// ServicePrediction is a prediction and what it means for the services of the group. Its
// JSON form is that of `bandmate predict -o json`.
type ServicePrediction struct {
	predictor.Prediction

	// Service is about the target; nil where its load is not said.
	Service *service.Answer `json:"service,omitempty"`
	// CorunnerServices are about the neighbors whose load is said, by name.
	CorunnerServices map[string]*service.Answer `json:"corunnerServices,omitempty"`
}

// PredictServices is PredictLoads with demands of the members, in their order, and with
// answers about all services whose load is said.
func (g *Group) PredictServices(ctx context.Context, target int, demands []service.Demand, explain bool) (ServicePrediction, error) {
	loads := make([]float64, len(demands))
	for i, d := range demands {
		loads[i] = d.Load
	}
	var p ServicePrediction
	var err error
	served := servedEntries{}
	if p.Prediction, p.Service, err = g.predictLoads(ctx, target, loads, explain, served); err != nil {
		return p, err
	}
	hold := func(answer *service.Answer, i int) {
		if answer != nil && demands[i].MaxP99 > 0 {
			answer.Hold(demands[i].MaxP99)
		}
	}
	hold(p.Service, target)
	for i, load := range loads {
		name := g.Entries[i].Application.Name()
		// Instances of one service with one demand fare alike.
		if i == target || load <= 0 || p.CorunnerServices[name] != nil {
			continue
		}
		_, answer, err := g.predictLoads(ctx, i, loads, false, served)
		if err != nil {
			return p, err
		}
		if p.CorunnerServices == nil {
			p.CorunnerServices = map[string]*service.Answer{}
		}
		hold(answer, i)
		p.CorunnerServices[name] = answer
	}
	return p, nil
}

// PredictLoads is Predict where members of the group are services under load. Loads are
// in requests per second, by member; 0 takes a member as it was measured. The answer is
// about the target as a service; nil where it has no load.
//
// A service that its neighbors stretch by s is as busy with a load λ as alone with s·λ,
// and causes the traffic of that load in s times the time. All slowdowns are therefore
// found together, by iteration, until ctx ends. Loads of members that are no services are
// an error.
func (g *Group) PredictLoads(ctx context.Context, target int, loads []float64, explain bool) (predictor.Prediction, *service.Answer, error) {
	return g.predictLoads(ctx, target, loads, explain, servedEntries{})
}

func (g *Group) predictLoads(ctx context.Context, target int, loads []float64, explain bool, served servedEntries) (predictor.Prediction, *service.Answer, error) {
	for i, load := range loads {
		if e := g.Entries[i]; load > 0 && e.Profile.Spec.Service == nil {
			return predictor.Prediction{}, nil, fmt.Errorf("%s has %w: onboard it with --service", e.Application.Name(), service.ErrNoSweep)
		}
	}
	p, err := g.settle(ctx, target, loads, explain, served)
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
			others := slices.Clone(loads)
			others[target] = load
			var err error
			if at, err = g.settle(ctx, target, others, false, served); err != nil {
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
		if IsService(e.Profile) && loads[i] <= 0 {
			warnings = append(warnings, fmt.Sprintf("%s: its load is not said: it is taken as it was measured, at %.6g requests per second",
				e.Application.Name(), measuredLoad(e.Profile.Spec.Service)))
		}
	}
	return warnings
}

// servedEntries are services under loads, each made once for all its instances.
type servedEntries map[servedKey]Entry

type servedKey struct {
	alone *predictor.Application
	load  float64
}

func (s servedEntries) serve(a *Advisor, e Entry, load float64) (Entry, error) {
	key := servedKey{e.Application, load}
	if known, ok := s[key]; ok {
		return known, nil
	}
	under, err := a.Serve(e, service.Demand{Load: load})
	if err == nil {
		s[key] = under
	}
	return under, err
}

// settle predicts the target with every service as busy as its slowdown makes it. More
// traffic slows every member down more, so the search rises from the services alone to
// the least fixed point.
func (g *Group) settle(ctx context.Context, target int, loads []float64, explain bool, served servedEntries) (predictor.Prediction, error) {
	at := *g
	at.Entries = slices.Clone(g.Entries)
	for i, load := range loads {
		var err error
		if at.Entries[i], err = served.serve(g.advisor, g.Entries[i], load); err != nil {
			return predictor.Prediction{}, err
		}
	}
	var p predictor.Prediction
	for range loadRounds {
		err := ctx.Err()
		if err != nil {
			return p, err
		}
		if p, err = at.Predict(target, explain); err != nil {
			return p, err
		}
		settled := true
		for i := range at.Entries {
			e := &at.Entries[i]
			s, known := p.CorunnerSlowdowns[e.Application.Name()]
			if i == target {
				s, known = p.Slowdown, true
			}
			if e.Serving == nil || !known {
				continue
			}
			busy := e.Serving.At(s)
			settled = settled && busy == e.Application
			e.Application = busy
		}
		if settled {
			break
		}
	}
	return p, nil
}
