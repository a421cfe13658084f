package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/schedplugin/view"
)

// Reasons of a rejection, in the pod's FailedScheduling event. They name no pod and
// no number, so that thousands of nodes make one line.
const (
	reasonNewcomer = "contention for memory would slow this pod beyond its bandmate.dev/max-slowdown"
	reasonResident = "this pod would slow another one there beyond its bandmate.dev/max-slowdown"
)

// PreFilter reads the pod and takes the profiles for the whole cycle. It skips Filter
// where no pod of the cluster has a limit.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	newcomer, faults := view.ReadPod(pod)
	for _, fault := range faults {
		p.metrics.invalidAnnotations.Inc()
		klog.FromContext(ctx).V(2).Info("Annotation cannot be read", "pod", klog.KObj(pod), "err", fault)
		p.reportInvalid(pod, fault)
	}
	if len(faults) > 0 && p.args.InvalidAnnotations == config.InvalidRejected {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, faults[0].Error())
	}
	if !p.args.Counts(newcomer.Application) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	p.announcer.touch(p.now())
	state.Write(stateKey, p.newCycle(pod, newcomer))
	if newcomer.Limit == 0 && !p.pods.anyLimit() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil: preemption hands Filter the changed nodes.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects a node where the pod, or a resident of the memory domain because of
// it, would exceed its limit.
func (p *Plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil || info.Node() == nil {
		return nil
	}
	node := c.stateOf(info)
	domain, err := c.domain(node)
	if err != nil {
		c.failed(ctx, node.node.Name, err)
		return nil
	}
	if c.newcomer.Limit == 0 && !domain.limited {
		return nil
	}
	result, err := c.score(domain, node.node.Name, node.machine)
	if err != nil {
		c.failed(ctx, node.node.Name, err)
		return nil
	}
	if result.OverLimit == 0 {
		return nil
	}
	klog.FromContext(ctx).V(4).Info("Limit exceeded", "pod", klog.KObj(pod), "node", node.node.Name, "explanation", explanation{result})
	p.pods.reject(pod)
	role, reason := roleResident, reasonResident
	if result.Newcomer.OverLimit() {
		role, reason = roleNewcomer, reasonNewcomer
	}
	p.metrics.rejections.WithLabelValues(role).Inc()
	return fwk.NewStatus(fwk.Unschedulable, reason)
}

// explanation renders a score where the log's level asks for it.
type explanation struct{ score *score.Score }

// String returns the score's explanation.
func (e explanation) String() string { return e.score.Explain() }
