package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
)

// Reasons of a rejection, as they stand in the pod's FailedScheduling event.
// They name no pod and no number, so that thousands of nodes make one line; the
// event of a placement, explain and the log say more.
const (
	reasonNewcomer = "contention for memory would slow this pod beyond its bandmate.dev/max-slowdown"
	reasonResident = "this pod would slow another one there beyond its bandmate.dev/max-slowdown"
)

// PreFilter reads the pod and takes the profiles that the whole cycle uses.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	facts, faults := readPod(pod)
	for _, fault := range faults {
		p.metrics.invalidAnnotations.Inc()
		klog.FromContext(ctx).V(2).Info("Annotation cannot be read", "pod", klog.KObj(pod), "err", fault)
		p.reportInvalid(pod, fault)
	}
	if len(faults) > 0 && p.args.InvalidAnnotations == config.InvalidRejected {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, faults[0].Error())
	}
	if !p.concerns(facts) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	p.announcer.touch(p.now())
	c := p.newCycle(pod, facts)
	state.Write(stateKey, c)
	if facts.limit == 0 && !p.pods.anyLimit() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil: preemption hands Filter the changed nodes.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter keeps the pod away from where it, or a resident, would go beyond its
// limit.
func (p *Plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil || info.Node() == nil {
		return nil
	}
	at, err := c.placeOn(info)
	if err != nil {
		return p.open(ctx, pod, info.Node().Name, err)
	}
	if c.facts.limit == 0 && !at.limited {
		return nil
	}
	result, err := p.score(c, at, info.Node().Name, c.plugin.machineOf(info))
	if err != nil {
		return p.open(ctx, pod, info.Node().Name, err)
	}
	if result.OverLimit == 0 {
		return nil
	}
	klog.FromContext(ctx).V(4).Info("Beyond a limit", "pod", klog.KObj(pod), "node", info.Node().Name, "explanation", explanation{result})
	p.pods.reject(pod)
	if result.Newcomer.OverLimit() {
		p.metrics.rejections.WithLabelValues(roleNewcomer).Inc()
		return fwk.NewStatus(fwk.Unschedulable, reasonNewcomer)
	}
	p.metrics.rejections.WithLabelValues(roleResident).Inc()
	return fwk.NewStatus(fwk.Unschedulable, reasonResident)
}

// open lets a pod through where its domain cannot be scored: a plugin that does
// not know must not keep a cluster from working. The metric and the log tell.
func (p *Plugin) open(ctx context.Context, pod *v1.Pod, node string, err error) *fwk.Status {
	p.metrics.failures.Inc()
	klog.FromContext(ctx).Error(err, "Domain cannot be scored", "pod", klog.KObj(pod), "node", node)
	return nil
}

// explanation is rendered only where the log's level asks for it.
type explanation struct{ score *score.Score }

// String returns the score's explanation.
func (e explanation) String() string { return e.score.Explain() }
