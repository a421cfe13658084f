package predictor

import (
	"fmt"

	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Workspace predicts by the default method without the rest of a Prediction,
// for callers that need many: once it has served as many applications as it is
// given, it allocates nothing. The zero value is ready; it serves one goroutine
// at a time.
type Workspace struct {
	byCurves curveSolver
	byModel  modelSolver
	combiner communication.Combiner
	members  []communication.Member
	parts    []communication.Parts
}

// Performances appends to dst the normalized performance of each application
// beside all the others, in order, and returns it. The first stands as the
// target, as in Predict; the numbers are those that Predict gives for it and
// for its co-runners. Where Predict refuses to guess, Performances takes what is
// missing as nothing: an application without curves as undisturbed, one of
// unknown contentiousness as causing no traffic. A caller who wants to know asks
// Application.Known.
func (w *Workspace) Performances(dst []units.NormalizedPerformance, apps []*Application) []units.NormalizedPerformance {
	before := len(dst)
	dst = w.MemoryPerformances(dst, apps)
	w.Communicate(dst[before:], apps, func(int) string { return "" })
	return dst
}

// Communicate turns the performances of applications beside each other, as memory
// alone leaves them, into those with what they make each other wait for the
// network; card names the network card of each. It returns the parts, which hold
// until the next call, or nil where nobody communicates and nothing changes.
func (w *Workspace) Communicate(performances []units.NormalizedPerformance, apps []*Application, card func(int) string) []communication.Parts {
	if !Communicates(apps) {
		return nil
	}
	w.members = w.members[:0]
	for i, a := range apps {
		w.members = append(w.members, a.Member(performances[i].Slowdown(), card(i)))
	}
	w.parts = w.combiner.Combine(w.parts[:0], w.members)
	for i := range performances {
		if w.parts[i].Communicates {
			performances[i] = w.parts[i].Slowdown.NormalizedPerformance()
		}
	}
	return w.parts
}

// MemoryPerformances is Performances as though nobody communicated.
func (w *Workspace) MemoryPerformances(dst []units.NormalizedPerformance, apps []*Application) []units.NormalizedPerformance {
	return w.memory(dst, apps, sharedModel(apps), true)
}

// MemoryCorunners is MemoryPerformances of applications that all stand as co-runners,
// beside each other and no target. byCurves has the model of the memory left out.
func (w *Workspace) MemoryCorunners(dst []units.NormalizedPerformance, apps []*Application, byCurves bool) []units.NormalizedPerformance {
	if byCurves {
		return w.memory(dst, apps, nil, false)
	}
	return w.memory(dst, apps, sharedModel(apps), false)
}

// ByCurves reports whether the curves predict applications beside each other, because no
// one model of the memory describes all of them.
func ByCurves(apps []*Application) bool { return sharedModel(apps) == nil }

func (w *Workspace) memory(dst []units.NormalizedPerformance, apps []*Application, model *memory.Model, targetFirst bool) []units.NormalizedPerformance {
	if model != nil && len(apps) > 1 {
		w.byModel.reset(apps, model, targetFirst)
		if w.byModel.solve(); !w.byModel.unsolved {
			return append(dst, w.byModel.performance...)
		}
	}
	w.byCurves.reset(apps, targetFirst)
	w.byCurves.solveInPhases(false)
	for i, p := range w.byCurves.performance {
		dst = append(dst, w.byCurves.hereOf(i, p))
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

// Assumed returns an application of which only the traffic is known, or assumed: it
// presses on others and counts as undisturbed itself. It fails on rates that are
// negative or not finite.
func Assumed(name string, traffic units.Traffic) (*Application, error) {
	if !traffic.Read.Valid() || !traffic.Write.Valid() {
		return nil, fmt.Errorf("application %q: traffic %+v: want finite rates of 0 or more", name, traffic)
	}
	a := Unprofiled(name)
	a.corunner, a.target, a.trafficKnown = traffic, traffic, true
	a.uncertainty = uncertainty{silentBandwidthUncertainty, silentReadShareUncertainty}
	a.sequence = []segment{{0, 1}}
	return a, nil
}
