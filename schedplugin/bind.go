package schedplugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor/score"
)

// Reserve remembers the memory domain where the pod goes as it is without the pod. For a
// member of a group it is called twice: when the pod was assumed and is in the snapshot,
// and when the group is complete and its members are in the snapshot no longer.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	p.pods.placed(pod.UID)
	c := cycleOf(state)
	if c == nil || c.chosen != nil && c.chosen.node == nodeName {
		return nil
	}
	info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(nodeName)
	if err != nil || info.Node() == nil {
		return nil
	}
	slot, node := c.stateOf(info)
	var domain *domainState
	if slices.ContainsFunc(node.node.Residents, func(r *occupancy.Resident) bool { return r.ID == string(pod.UID) }) {
		domain, err = c.prepare(c.sharing(node.node), node.node)
	} else {
		domain, err = c.domain(slot, node)
	}
	if err == nil {
		c.chosen = &candidate{node: nodeName, machine: node.machine, domain: domain}
	}
	return nil
}

// Unreserve has nothing to undo.
func (p *Plugin) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// PostBind counts the placement and queues it for explain. It predicts where that takes
// microseconds. It runs concurrently with the cycle of the next pod.
func (p *Plugin) PostBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	c := cycleOf(state)
	if c == nil || c.chosen == nil {
		return
	}
	profile := c.profileOn(c.chosen.machine)
	p.metrics.lookups.WithLabelValues(string(profile.State)).Inc()
	if age, ok := profile.Age(c.now); ok {
		p.metrics.profileAge.Observe(age.Seconds())
	}
	if profile.Application == nil {
		p.metrics.unknownPods.Inc()
	}
	c.settle()
	placed := &placement{pod: pod, cycle: c}
	if len(c.chosen.domain.residents) <= mostExact {
		p.predict(ctx, placed)
	}
	if placed.cycle != nil || placed.note != "" {
		p.announcer.add(pod.UID, placed)
	}
}

// placement is a pod that was placed and what is to be said of it.
type placement struct {
	pod *v1.Pod
	// cycle is what the prediction is made of, until it is made.
	cycle *cycle
	note  string // empty for no event
}

// settle keeps of a cycle what its prediction needs: the chosen memory domain, and that
// of the runner-up.
func (c *cycle) settle() {
	c.scored = len(c.ranked)
	c.shared.Clear()
	for i := range c.ranked {
		if c.ranked[i].node != c.chosen.node {
			c.ranked = []candidate{c.ranked[i]}
			return
		}
	}
	c.ranked = nil
}

// explain writes the event of a placement, after its prediction.
func (p *Plugin) explain(ctx context.Context, placed *placement) {
	p.predict(ctx, placed)
	if placed.note != "" {
		p.event(placed.pod, v1.EventTypeNormal, reasonPredicted, placed.note)
	}
}

// predict reports the prediction of a placement in metrics and in the log, and notes it
// for the event. It scores exactly, with the domain as it was before the pod came.
func (p *Plugin) predict(ctx context.Context, placed *placement) {
	c := placed.cycle
	if c == nil {
		return
	}
	placed.cycle = nil
	profile := c.profileOn(c.chosen.machine)
	result, err := c.score(c.chosen.domain, c.chosen.node, c.chosen.machine)
	if err != nil {
		p.metrics.failures.Inc()
		klog.FromContext(ctx).Error(err, "Placement cannot be explained", "pod", klog.KObj(c.pod), "node", c.chosen.node)
		return
	}
	if result.Newcomer.Known {
		p.metrics.slowdown.WithLabelValues(roleNewcomer).Observe(float64(result.Newcomer.After))
	}
	residents := p.metrics.slowdown.WithLabelValues(roleResident)
	for i := range result.Residents {
		if result.Residents[i].Known {
			residents.Observe(float64(result.Residents[i].After))
		}
	}
	if !p.args.PlacementEvents && !p.args.DecisionLog {
		return
	}
	other := c.runnerUp()
	if p.args.PlacementEvents {
		placed.note = c.note(profile, result, other)
	}
	if p.args.DecisionLog {
		logDecision(klog.FromContext(ctx), c, profile, result, other)
	}
}

// alternative is the best node that was not chosen.
type alternative struct {
	node  string
	score *score.Score
}

// runnerUp scores the best candidate that was not chosen; nil without one.
func (c *cycle) runnerUp() *alternative {
	if len(c.ranked) == 0 {
		return nil
	}
	other := &c.ranked[0]
	result, err := c.score(other.domain, other.node, other.machine)
	if err != nil {
		return nil // NormalizeScore has reported it
	}
	return &alternative{other.node, result}
}

// unseen is what an event calls a pod of another namespace, which whoever reads the
// event may not see.
const unseen = "a pod of another namespace"

// nameOf returns the name of a resident in an event of the cycle's pod.
func (c *cycle) nameOf(r *occupancy.Resident) string {
	if r.Namespace != c.newcomer.Namespace {
		return unseen
	}
	return r.Namespace + "/" + r.Name
}

// mostNamed is how many residents an event names.
const mostNamed = 3

// affected is a resident and what the placement does to it.
type affected struct {
	name string
	score.Effect
}

// note returns the prediction in a line, such as "predicted 1.04× for this pod, 1.08× for
// shop/db-0, runner-up node-3 1.12× (cost +0.080)". It has no numbers where the traffic
// of the pod is not known.
func (c *cycle) note(profile *profile, result *score.Score, other *alternative) string {
	var b strings.Builder
	switch profile.State {
	case advisor.Known:
		fmt.Fprintf(&b, "predicted %s for this pod", result.Newcomer.After)
	case advisor.Transferred:
		fmt.Fprintf(&b, "predicted %s for this pod (%s)", result.Newcomer.After, profile.Reason)
	default:
		fmt.Fprintf(&b, "no prediction for this pod: %s", c.plugin.watch.why(profile))
		if c.plugin.standIn == nil {
			return shorten(b.String())
		}
	}
	if served := profile.Served(result.Newcomer.After); served != "" {
		fmt.Fprintf(&b, " (%s)", served)
	}
	all, unknown := make([]affected, 0, len(result.Residents)), 0
	for i, r := range result.Residents {
		if r.Known {
			all = append(all, affected{c.nameOf(c.chosen.domain.residents[i]), r})
		} else {
			unknown++
		}
	}
	slices.SortFunc(all, func(a, b affected) int {
		return cmp.Or(cmp.Compare(b.After-b.Before, a.After-a.Before), cmp.Compare(a.name, b.name))
	})
	for _, r := range all[:min(len(all), mostNamed)] {
		fmt.Fprintf(&b, ", %s for %s", r.After, r.name)
	}
	if len(all) > mostNamed {
		fmt.Fprintf(&b, " and %d more", len(all)-mostNamed)
	}
	if unknown > 0 {
		fmt.Fprintf(&b, ", %d beside it not fully known", unknown)
	}
	if other != nil {
		fmt.Fprintf(&b, ", runner-up %s %s (cost %s)", other.node, other.score.Newcomer.After, moreCost(other.score.Cost-result.Cost))
	}
	return shorten(b.String())
}

// moreCost says why a runner-up was not chosen.
func moreCost(more float64) string {
	text := fmt.Sprintf("%+.3f", more)
	switch {
	case text == "+0.000" || text == "-0.000":
		return "the same"
	case more < 0:
		return text + ", but other plugins preferred this node"
	}
	return text
}

// logDecision writes a line of the optional decision log.
func logDecision(logger klog.Logger, c *cycle, profile *profile, result *score.Score, other *alternative) {
	values := []any{
		"pod", klog.KObj(c.pod), "node", c.chosen.node, "domain", result.Domain,
		"application", c.newcomer.Application, "profile", string(profile.State), "reason", profile.Reason,
		"objective", string(result.Objective), "cost", result.Cost,
		"slowdown", float64(result.Newcomer.After), "residents", len(result.Residents),
		"unknown", len(result.Unknown()), "scored", c.scored,
	}
	if other != nil {
		values = append(values, "runnerUp", other.node, "runnerUpCost", other.score.Cost, "runnerUpSlowdown", float64(other.score.Newcomer.After))
	}
	logger.Info("Decision", values...)
}
