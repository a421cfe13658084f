package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// EventsToRegister says what may let a pod through that a limit rejected. A
// change of profiles is not among them: naming a custom resource that is not
// installed would block all scheduling. The watch of profiles activates those
// pods itself.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.afterPodLeft},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, QueueingHintFn: p.afterPodUpdate},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}, QueueingHintFn: p.afterNodeUpdate},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAnnotation}, QueueingHintFn: p.afterNodeUpdate},
	}, nil
}

// afterPodLeft asks for another try when a pod that counted has gone.
func (p *Plugin) afterPodLeft(_ klog.Logger, _ *v1.Pod, was, _ any) (fwk.QueueingHint, error) {
	gone, ok := was.(*v1.Pod)
	if !ok {
		return fwk.Queue, nil
	}
	facts, _ := readPod(gone)
	if p.concerns(facts) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterPodUpdate asks for another try when the pod itself, or a pod on a node,
// changed what it says of itself, or ended.
func (p *Plugin) afterPodUpdate(_ klog.Logger, _ *v1.Pod, was, is any) (fwk.QueueingHint, error) {
	before, ok := was.(*v1.Pod)
	after, okToo := is.(*v1.Pod)
	if !ok || !okToo {
		return fwk.Queue, nil
	}
	old, oldFaults := readPod(before)
	now, newFaults := readPod(after)
	if old != now || len(oldFaults) != len(newFaults) || finished(before) != finished(after) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterNodeUpdate asks for another try when a node changed its domain or
// machine, or is measured to carry less.
func (p *Plugin) afterNodeUpdate(_ klog.Logger, _ *v1.Pod, was, is any) (fwk.QueueingHint, error) {
	before, ok := was.(*v1.Node)
	after, okToo := is.(*v1.Node)
	if !ok || !okToo {
		return fwk.Queue, nil
	}
	for _, label := range []string{v1alpha1.MemoryDomainLabel, v1alpha1.MachineLabel} {
		if before.Labels[label] != after.Labels[label] {
			return fwk.Queue, nil
		}
	}
	text := after.Annotations[v1alpha1.MeasuredTrafficAnnotation]
	if text == before.Annotations[v1alpha1.MeasuredTrafficAnnotation] {
		return fwk.QueueSkip, nil
	}
	old, err := v1alpha1.ParseMeasuredTraffic(before.Annotations[v1alpha1.MeasuredTrafficAnnotation])
	now, errNow := v1alpha1.ParseMeasuredTraffic(text)
	if err == nil && errNow == nil && now.Traffic().Total() >= old.Traffic().Total() {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
