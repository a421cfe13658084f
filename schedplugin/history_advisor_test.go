package schedplugin

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/view"
)

// rounding is by how much two predictions of one placement may differ.
const rounding = 2e-3

// ask compares an answer with what the advisor says of the same pods, where profiles alone
// decide.
func (w *history) ask(newcomer *v1.Pod, answer *outcome) {
	costs := map[string]float64{}
	for name, n := range w.h.nodes {
		cost, over, plain := w.predict(newcomer, n)
		if !plain {
			continue
		}
		if why, rejected := answer.rejected[name]; rejected != over {
			w.t.Errorf("%s is rejected %v (%s), the advisor says %v", name, rejected, why, over)
		}
		if _, scored := answer.scores[name]; scored {
			costs[name] = cost
		}
	}
	if len(answer.scores) > int(w.p.args.ExactDomains) || w.p.args.Objective != score.AddedCost {
		return // some costs are estimates, or other ones
	}
	for a, cost := range costs {
		for b, other := range costs {
			if cost+rounding < other && answer.scores[a] < answer.scores[b] {
				w.t.Errorf("%s scores %d and costs %.3f, %s %d and %.3f", a, answer.scores[a], cost, b, answer.scores[b], other)
			}
		}
	}
}

// predict returns what a placement costs and whether it breaks a limit. It is not plain where
// a limit is close, or where more than the profiles of all pods counts.
func (w *history) predict(newcomer *v1.Pod, n *fakeNode) (cost float64, over, plain bool) {
	pods := []*v1.Pod{newcomer}
	machine, pool := n.node.Labels[v1alpha1.MachineLabel], n.node.Labels[v1alpha1.MemoryDomainLabel]
	for _, other := range w.h.nodes {
		if other != n && (pool == "" || other.node.Labels[v1alpha1.MemoryDomainLabel] != pool) {
			continue
		}
		if other.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] != "" || other.node.Labels[v1alpha1.MachineLabel] != machine {
			return 0, false, false
		}
		for _, p := range other.pods {
			if !view.Finished(p.GetPod()) && w.p.args.Counts(p.GetPod().Labels[v1alpha1.ApplicationLabel]) {
				pods = append(pods, p.GetPod())
			}
		}
	}
	entries := make([]advisor.Entry, len(pods))
	for i, p := range pods {
		r := resident(p)
		entries[i] = w.known.Lookup(r.Application, machine)
		if entries[i].Application == nil || r.NUMANode != 0 || r.Demand.Load != 0 || r.Demand.MaxP99 != 0 {
			return 0, false, false
		}
	}
	after, before := w.slowdowns(entries), append([]float64{1}, w.slowdowns(entries[1:])...)
	for i, p := range pods {
		r := resident(p)
		cost += r.CPUs * (after[i] - before[i])
		if r.Limit == 0 {
			continue
		}
		beyond := after[i] - max(float64(r.Limit), before[i])
		if math.Abs(beyond) < rounding {
			return 0, false, false
		}
		over = over || beyond > 0
	}
	return cost, over, true
}

// slowdowns predicts each application beside all others.
func (w *history) slowdowns(entries []advisor.Entry) []float64 {
	g, err := w.known.Group(w.t.Context(), entries, predictor.Default)
	if err != nil {
		w.t.Fatal(err)
	}
	slowdowns := make([]float64, len(entries))
	for i := range entries {
		p, err := g.Predict(i, false)
		if err != nil {
			w.t.Fatal(err)
		}
		slowdowns[i] = float64(p.Slowdown)
	}
	return slowdowns
}
