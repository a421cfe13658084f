package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/schedplugin/view"
)

// EventsToRegister returns the changes that may let a pod through that a limit
// rejected. Changes of profiles are not among them, because naming a custom resource
// that is not installed would block all scheduling: activate follows those.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.afterPodLeft},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, QueueingHintFn: p.afterPodUpdate},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}, QueueingHintFn: afterNodeLeft},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}, QueueingHintFn: p.afterNodeUpdate},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAnnotation}, QueueingHintFn: p.afterNodeUpdate},
	}, nil
}

// afterPodLeft tries again when a pod that counts was deleted. One that had ended counted no
// more.
func (p *Plugin) afterPodLeft(_ klog.Logger, _ *v1.Pod, was, _ any) (fwk.QueueingHint, error) {
	gone, ok := was.(*v1.Pod)
	if !ok {
		return fwk.Queue, nil
	}
	if resident, _ := view.ReadPod(gone); p.args.Counts(resident.Application) && !view.Finished(gone) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterPodUpdate tries again when the pod, or a pod on a node, ended or changed its
// labels, annotations or requests.
func (p *Plugin) afterPodUpdate(_ klog.Logger, _ *v1.Pod, was, is any) (fwk.QueueingHint, error) {
	before, ok := was.(*v1.Pod)
	after, okToo := is.(*v1.Pod)
	if !ok || !okToo {
		return fwk.Queue, nil
	}
	old, oldFaults := view.ReadPod(before)
	now, newFaults := view.ReadPod(after)
	if old.Application != now.Application || old.CPUs != now.CPUs || old.Limit != now.Limit || old.Demand != now.Demand || old.NUMANode != now.NUMANode ||
		len(oldFaults) != len(newFaults) || view.Finished(before) != view.Finished(after) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterNodeLeft tries again when a node with a memory domain of several was deleted: its
// pods no longer count on the others.
func afterNodeLeft(_ klog.Logger, _ *v1.Pod, was, _ any) (fwk.QueueingHint, error) {
	if gone, ok := was.(*v1.Node); ok && gone.Labels[v1alpha1.MemoryDomainLabel] == "" {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterNodeUpdate tries again when a node changed its domain or machine, when its pods got
// other CPUs and perhaps caches, or when another measurement may let the pod through.
func (p *Plugin) afterNodeUpdate(_ klog.Logger, _ *v1.Pod, was, is any) (fwk.QueueingHint, error) {
	before, ok := was.(*v1.Node)
	after, okToo := is.(*v1.Node)
	if !ok || !okToo {
		return fwk.Queue, nil
	}
	if before.Annotations[v1alpha1.MeasuredTrafficAnnotation] != after.Annotations[v1alpha1.MeasuredTrafficAnnotation] {
		if p.lessTraffic(before, after) {
			return fwk.Queue, nil
		}
	}
	caches := p.watch.profiles().advisor.SharedCaches(after.Labels[v1alpha1.MachineLabel])
	if before.Annotations[v1alpha1.ExclusiveCPUsAnnotation] != after.Annotations[v1alpha1.ExclusiveCPUsAnnotation] && len(caches) > 0 {
		return fwk.Queue, nil
	}
	for _, label := range []string{v1alpha1.MemoryDomainLabel, v1alpha1.MachineLabel} {
		if before.Labels[label] != after.Labels[label] {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}

// lessTraffic reports whether another measurement of a node may lower the traffic that
// counts there: less was measured, the last one has expired since it counted, or the new
// one may include pods that were counted beside the last one. It does not look at a node of
// which an older measurement was read last: no pod was refused by the last one.
func (p *Plugin) lessTraffic(before, after *v1.Node) bool {
	old, _ := view.ReadNode(before)
	now, _ := view.ReadNode(after)
	maxAge := p.args.MeasuredTrafficMaxAge.Duration
	if now.Measured == nil || !old.Measured.Fresh(p.now(), maxAge) || now.Measured.Traffic.Total() < old.Measured.Traffic.Total() {
		return true
	}
	last := p.nodes.slot(after.Name).state.Load()
	if last == nil || last.node.Measured == nil {
		return false
	}
	if read := last.node.Measured.Time; !read.Equal(old.Measured.Time) && !read.Equal(now.Measured.Time) {
		return false
	}
	seen := *last.node
	seen.Measured = old.Measured
	return !seen.AllMeasured(maxAge)
}
