package schedplugin

import (
	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// anyNUMANode is the NUMA node of a pod that is pinned to none.
const anyNUMANode = -1

// podFacts is what a pod says of itself.
type podFacts struct {
	application string  // empty when it names none
	cpus        float64 // 1 when it requests none
	limit       units.Slowdown
	numaNode    int // or anyNUMANode
}

// readPod reads labels, annotations and requests. What cannot be read counts as
// absent and is returned as faults.
func readPod(pod *v1.Pod) (facts podFacts, faults []error) {
	facts = podFacts{application: pod.Labels[v1alpha1.ApplicationLabel], cpus: requestedCPUs(pod), numaNode: anyNUMANode}
	if text, ok := pod.Annotations[v1alpha1.MaxSlowdownAnnotation]; ok {
		limit, err := v1alpha1.ParseMaxSlowdown(text)
		if err != nil {
			faults = append(faults, err)
		}
		facts.limit = limit
	}
	text, ok := pod.Annotations[v1alpha1.NUMANodeAnnotation]
	if !ok {
		text, ok = pod.Labels[v1alpha1.NUMANodeAnnotation]
	}
	if ok {
		node, err := v1alpha1.ParseNUMANode(text)
		if err != nil {
			faults = append(faults, err)
			node = anyNUMANode
		}
		facts.numaNode = node
	}
	return facts, faults
}

// requestedCPUs adds up the requests as the kubelet does: containers and
// sidecars together, or the largest other init container. A pod that requests
// nothing counts as one CPU: its slowdown must weigh something.
func requestedCPUs(pod *v1.Pod) float64 {
	var together, largest int64
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		request := c.Resources.Requests.Cpu().MilliValue()
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			together += request
			request = 0
		}
		largest = max(largest, together+request)
	}
	for i := range pod.Spec.Containers {
		together += pod.Spec.Containers[i].Resources.Requests.Cpu().MilliValue()
	}
	if r := pod.Spec.Resources; r != nil && r.Requests.Cpu() != nil {
		together = max(together, r.Requests.Cpu().MilliValue())
	}
	milli := max(together, largest)
	if milli <= 0 {
		return 1
	}
	return float64(milli) / 1000
}
