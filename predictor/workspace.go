package predictor

import (
	"bandmate.dev/bandmate/units"
)

// Workspace predicts by the default method without the rest of a Prediction,
// for callers that need many: once it has served as many applications as it is
// given, it allocates nothing. The zero value is ready; it serves one goroutine
// at a time.
type Workspace struct {
	state     equilibrium
	described company
}

// Performances appends to dst the normalized performance of each application
// beside all the others, in order, and returns it. The first stands as the
// target, as in Predict; the numbers are those that Predict gives for it and
// for its co-runners. Where Predict refuses to guess, Performances takes what is
// missing as nothing: an application without curves as undisturbed, one of
// unknown contentiousness as causing no traffic. A caller who wants to know asks
// Application.Known.
func (w *Workspace) Performances(dst []units.NormalizedPerformance, apps []*Application) []units.NormalizedPerformance {
	if model := describedTogether(apps); model != nil && len(apps) > 1 {
		w.described.reset(apps, model, true)
		w.described.meet()
		return append(dst, w.described.performance...)
	}
	w.state.reset(apps, true)
	w.state.settleInPhases(false)
	for i, p := range w.state.performance {
		if i > 0 {
			p = apps[i].away(p)
		}
		dst = append(dst, p)
	}
	return dst
}

// Known reports whether the application's slowdown can be predicted, and
// whether what it causes is known.
func (a *Application) Known() (sensitivity, contentiousness bool) {
	return a.family != nil, a.trafficKnown
}

// Unprofiled returns an application of which nothing but the name is known: it
// counts as undisturbed and as causing no traffic.
func Unprofiled(name string) *Application {
	return &Application{name: name, slowerAway: 1, phases: steady[:]}
}
