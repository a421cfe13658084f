package schedplugin

import (
	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/units"
)

// anyNUMANode is the NUMA node of a pod that is pinned to none.
const anyNUMANode = -1

// podFacts is what a pod says of itself, as view.ReadPod reads it.
type podFacts struct {
	application string  // empty when it names none
	cpus        float64 // 1 when it requests none
	limit       units.Slowdown
	numaNode    int // or anyNUMANode
}

// readPod reads labels, annotations and requests. What cannot be read counts as
// absent and is returned as faults.
func readPod(pod *v1.Pod) (facts podFacts, faults []error) {
	p, faults := view.ReadPod(pod)
	facts = podFacts{application: p.Application, cpus: p.CPUs, limit: p.Limit, numaNode: anyNUMANode}
	if p.NUMANode != nil {
		facts.numaNode = *p.NUMANode
	}
	return facts, faults
}
