package schedplugin

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/service"
)

// Reasons of a rejection, in the pod's FailedScheduling event. They name no pod and
// no number, so that thousands of nodes make one line.
const (
	reasonNewcomer = "contention for memory would slow this pod beyond its bandmate.dev/max-slowdown, max-p99 or load"
	reasonResident = "this pod would slow another one there beyond its bandmate.dev/max-slowdown, max-p99 or load"
	reasonUnknown  = "a bandmate.dev/max-slowdown, max-p99 or load there, or of this pod, cannot be checked"
)

// PreFilter reads the pod and takes the profiles for the whole cycle. It skips Filter
// where no pod of the cluster has a limit.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	newcomer, faults := view.ReadPod(pod)
	for _, fault := range faults {
		p.metrics.invalidAnnotations.Inc()
		klog.FromContext(ctx).V(2).Info("Annotation cannot be read", "pod", klog.KObj(pod), "err", fault)
	}
	p.reportInvalid(pod, faults)
	if len(faults) > 0 && p.args.InvalidAnnotations == config.InvalidRejected {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, faults[0].Error())
	}
	if !p.args.Counts(newcomer.Application) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if hasLimit(pod) {
		p.pods.limited.add(pod.UID)
	}
	p.announcer.touch(p.now())
	state.Write(stateKey, p.newCycle(pod, newcomer))
	if !newcomer.Limited() && !p.pods.anyLimit() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil: preemption hands Filter the changed nodes.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects a node where the pod, or a resident of the memory domain because of
// it, would exceed its limit. With ProtectLimits, preemption does not help against the
// limit of a resident, and a node that preemption tries without some of its pods has to
// fit with them, too. Preemption for a group takes pods out of the snapshot as well.
func (p *Plugin) Filter(ctx context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil || info.Node() == nil {
		return nil
	}
	if status := c.filter(ctx, info); !status.IsSuccess() || !p.args.ProtectLimits {
		return status
	}
	if p.onNode != nil && inGroup(c.pod) {
		if status := c.filterWhole(ctx, info); status != nil {
			return status
		}
	}
	now, err := p.handle.SnapshotSharedLister().NodeInfos().Get(info.Node().Name)
	if err != nil || now == info || now.Node() == nil || len(now.GetPods()) <= len(info.GetPods()) {
		return nil
	}
	if status := c.filter(ctx, now); status.Code() == fwk.UnschedulableAndUnresolvable {
		return status
	}
	return nil
}

// filter holds limits in the memory domain of a node.
func (c *cycle) filter(ctx context.Context, info fwk.NodeInfo) *fwk.Status {
	slot, node := c.stateOf(info)
	domain, err := c.domain(slot, node)
	if err != nil {
		c.failed(ctx, node.node.Name, err)
		return nil
	}
	return c.hold(ctx, info, node.machine, domain)
}

// hold holds limits on a node of a machine, in its memory domain.
func (c *cycle) hold(ctx context.Context, info fwk.NodeInfo, machine string, domain *domainState) *fwk.Status {
	p, name := c.plugin, info.Node().Name
	if !c.newcomer.Limited() && !domain.limited {
		return nil
	}
	if p.args.UnverifiableLimits == config.UnverifiableRejected {
		newcomer := c.newcomerOn(name, machine)
		if why := c.unverifiable(domain, newcomer); why != "" {
			code := c.code(p.args.ProtectLimits && c.residentsRefuse(domain, newcomer, machine))
			return c.refuse(info, roleUnverifiable, code, reasonUnknown, refusal{node: name, excess: math.Inf(1), why: why})
		}
	}
	result, err := c.score(domain, name, machine)
	if err != nil {
		c.failed(ctx, name, err)
		return nil
	}
	if result.OverLimit == 0 {
		return nil
	}
	klog.FromContext(ctx).V(4).Info("Limit exceeded", "pod", klog.KObj(c.pod), "node", name, "explanation", explanation{result})
	because := c.overLimit(domain, c.newcomerOn(name, machine), result)
	code := c.code(slices.ContainsFunc(result.Residents, score.Effect.OverLimit))
	if result.Newcomer.OverLimit() {
		return c.refuse(info, roleNewcomer, code, reasonNewcomer, because)
	}
	return c.refuse(info, roleResident, code, reasonResident, because)
}

// code returns the code of a refusal, by whether the limit of a resident is among its
// reasons.
func (c *cycle) code(ofResident bool) fwk.Code {
	if ofResident && c.plugin.args.ProtectLimits {
		return fwk.UnschedulableAndUnresolvable
	}
	return fwk.Unschedulable
}

// residentsRefuse reports whether limits of residents would keep the pod from a domain if
// it had none of its own: they cannot be checked, or they would be exceeded.
func (c *cycle) residentsRefuse(d *domainState, newcomer *occupancy.Resident, machine string) bool {
	unlimited := *newcomer
	unlimited.Limit, unlimited.Demand = 0, service.Demand{}
	if c.unverifiable(d, &unlimited) != "" {
		return true
	}
	result, err := c.score(d, newcomer.Node, machine)
	return err == nil && slices.ContainsFunc(result.Residents, score.Effect.OverLimit)
}

// refuse counts and remembers that a limit keeps the pod from a node. What preemption
// tries, a node without some of its pods, is not what keeps the pod pending.
func (c *cycle) refuse(info fwk.NodeInfo, role string, code fwk.Code, reason string, because refusal) *fwk.Status {
	if now, err := c.plugin.handle.SnapshotSharedLister().NodeInfos().Get(because.node); err == nil && len(info.GetPods()) >= len(now.GetPods()) {
		c.refused.add(because)
	}
	if c.plugin.pods.reject(c.pod, role) {
		c.plugin.metrics.rejections.WithLabelValues(role).Inc()
	}
	return fwk.NewStatus(code, reason)
}

// explanation renders a score where the log's level asks for it.
type explanation struct{ score *score.Score }

// String returns the score's explanation.
func (e explanation) String() string { return e.score.Explain() }
