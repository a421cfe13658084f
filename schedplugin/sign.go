package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// SignPod lets the scheduler place equal pods in batches, with the scores of the
// first, only where they do not concern the plugin: the scores of others depend
// on who has just been placed.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if facts, faults := readPod(pod); p.concerns(facts) || len(faults) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, "scores depend on the pods placed before")
	}
	return nil, nil
}
