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
	"bandmate.dev/bandmate/predictor/score"
)

// Reserve remembers the memory domain where the pod goes as it is without the pod.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	p.pods.forget(pod.UID)
	c := cycleOf(state)
	if c == nil {
		return nil
	}
	info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(nodeName)
	if err != nil || info.Node() == nil {
		return nil
	}
	node := c.stateOf(info)
	if domain, err := c.domain(node); err == nil {
		c.chosen = &candidate{node: nodeName, machine: node.machine, domain: domain}
	}
	return nil
}

// Unreserve has nothing to undo.
func (p *Plugin) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// PostBind counts the placement and queues it for explain. It runs concurrently with
// the cycle of the next pod.
func (p *Plugin) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
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
	p.announcer.add(pod.UID, c)
}

// explain reports the prediction of a placement: in metrics, as an event on the pod,
// and in the log. It scores exactly, with the domain as it was before the pod came.
func (p *Plugin) explain(ctx context.Context, c *cycle) {
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
		p.event(c.pod, v1.EventTypeNormal, reasonPredicted, note(profile, result, other))
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
	for i := range c.ranked {
		other := &c.ranked[i]
		if other.node == c.chosen.node {
			continue
		}
		result, err := c.score(other.domain, other.node, other.machine)
		if err != nil {
			return nil // NormalizeScore has reported it
		}
		return &alternative{other.node, result}
	}
	return nil
}

// mostNamed is how many residents an event names.
const mostNamed = 3

// note returns the prediction in a line, such as "predicted 1.04× for this pod, 1.08× for
// db-0, runner-up node-3 1.12×".
func note(profile *profile, result *score.Score, other *alternative) string {
	var b strings.Builder
	switch profile.State {
	case advisor.Known, advisor.Partial:
		fmt.Fprintf(&b, "predicted %s for this pod", result.Newcomer.After)
	case advisor.Transferred:
		fmt.Fprintf(&b, "predicted %s for this pod (%s)", result.Newcomer.After, profile.Reason)
	default:
		fmt.Fprintf(&b, "no prediction for this pod: %s", profile.Reason)
	}
	affected := slices.SortedFunc(slices.Values(result.Residents), func(a, b score.Effect) int {
		return cmp.Or(cmp.Compare(b.After-b.Before, a.After-a.Before), cmp.Compare(a.Job, b.Job))
	})
	unknown := 0
	for i, r := range affected {
		if !r.Known {
			unknown++
		} else if i < mostNamed {
			fmt.Fprintf(&b, ", %s for %s", r.After, r.Job)
		}
	}
	if len(affected) > mostNamed {
		fmt.Fprintf(&b, " and %d more", len(affected)-mostNamed)
	}
	if unknown > 0 {
		fmt.Fprintf(&b, ", %d beside it not fully known", unknown)
	}
	if other != nil {
		fmt.Fprintf(&b, ", runner-up %s %s", other.node, other.score.Newcomer.After)
	}
	return shorten(b.String())
}

// logDecision writes a line of the optional decision log.
func logDecision(logger klog.Logger, c *cycle, profile *profile, result *score.Score, other *alternative) {
	values := []any{
		"pod", klog.KObj(c.pod), "node", c.chosen.node, "domain", result.Domain,
		"application", c.newcomer.Application, "profile", string(profile.State), "reason", profile.Reason,
		"objective", string(result.Objective), "cost", result.Cost,
		"slowdown", float64(result.Newcomer.After), "residents", len(result.Residents),
		"unknown", len(result.Unknown()), "scored", len(c.ranked),
	}
	if other != nil {
		values = append(values, "runnerUp", other.node, "runnerUpCost", other.score.Cost, "runnerUpSlowdown", float64(other.score.Newcomer.After))
	}
	logger.Info("Decision", values...)
}
