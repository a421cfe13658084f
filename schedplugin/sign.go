package schedplugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/schedplugin/view"
)

// SignPod lets the scheduler place equal pods in batches, with the scores of the
// first, where they do not count. The scores of other pods depend on the pods placed
// just before.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if resident, faults := view.ReadPod(pod); p.args.Counts(resident.Application) || len(faults) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, "scores depend on the pods placed before")
	}
	return nil, nil
}
