package schedplugin

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
)

// unverifiable returns why a limit of the newcomer, or of a resident because of it, cannot
// be checked in a domain; empty where all can be.
func (c *cycle) unverifiable(d *domainState, newcomer *occupancy.Resident) string {
	measured := func(i int) bool { return !d.load.Residents()[i].Unmeasured }
	return occupancy.Unverifiable(newcomer, d.residents, measured, c.plugin.standIn != nil, c.nameOf)
}

// known reports whether a profile, which may be missing, has curves and traffic.
func known(a *predictor.Application) (sensitivity, contentiousness bool) {
	if a == nil {
		return false, false
	}
	return a.Known()
}

// refusal is a node that a limit keeps from the pod.
type refusal struct {
	node string
	// excess is by how much the slowdown exceeds the limit, or the one at which a service
	// misses its demand, as a factor; without one the limit cannot be checked, and why says so.
	excess float64
	why    string
}

// refusals are the nodes that limits refused in a cycle. Filter adds to them from several
// goroutines.
type refusals struct {
	mutex sync.Mutex
	nodes map[string]bool
	best  refusal
}

// add counts the refusal of a node once. The best is the one with the least excess, then
// by name, so that equal attempts give equal notes.
func (r *refusals) add(next refusal) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.nodes[next.node] {
		return
	}
	if len(r.nodes) == 0 || cmp.Or(cmp.Compare(next.excess, r.best.excess), cmp.Compare(next.node, r.best.node)) < 0 {
		r.best = next
	}
	if r.nodes == nil {
		r.nodes = map[string]bool{}
	}
	r.nodes[next.node] = true
}

// overLimit returns the refusal of a node by a score with a limit that is exceeded.
func (c *cycle) overLimit(d *domainState, newcomer *occupancy.Resident, result *score.Score) refusal {
	worst, of, name := result.Newcomer, newcomer, "this pod"
	for i, r := range result.Residents {
		if r.OverLimit() && (!worst.OverLimit() || excess(r) > excess(worst)) {
			worst, of, name = r, d.residents[i], c.nameOf(d.residents[i])
		}
	}
	return refusal{node: newcomer.Node, excess: excess(worst), why: of.Exceeded(name, worst)}
}

func excess(e score.Effect) float64 { return float64(e.After / e.Limit) }

// PostFilter writes an event about the limits that keep a pod pending, with the numbers
// that the reasons of Filter leave out. It retries a pod whose profiles changed meanwhile,
// and lets no pod through.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if c := cycleOf(state); c != nil {
		note := c.refused.note()
		if note != "" && p.pods.firstNote(pod.UID, note) {
			p.event(pod, v1.EventTypeWarning, reasonLimit, shorten(note))
		}
		if note != "" && c.outdated() { // activate may have come before Filter
			p.handle.Activate(klog.FromContext(ctx), map[string]*v1.Pod{string(pod.UID): pod})
		}
	}
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// note says how many nodes limits refused, and which of them is the nearest to fit.
func (r *refusals) note() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch len(r.nodes) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a limit refused %s: %s", r.best.node, r.best.why)
	}
	return fmt.Sprintf("limits refused %s, the best of them %s: %s", text.Count(len(r.nodes), "node"), r.best.node, r.best.why)
}
