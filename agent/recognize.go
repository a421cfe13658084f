package agent

import (
	"fmt"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

// Recognize returns the name of the one profile that is of a machine like this
// one: the same processor, and as many sockets, NUMA nodes and CPUs. Without
// one, or with several, the name is empty and why says what would help.
func Recognize(m *topology.Machine, profiles []*v1alpha1.MachineProfile) (name, why string) {
	var alike []string
	for _, p := range profiles {
		if p.Spec.CPUModel == m.CPUModel && p.Spec.Sockets == m.Sockets() &&
			p.Spec.NUMANodes == len(m.Nodes) && p.Spec.CPUs == len(m.CPUs) {
			alike = append(alike, p.Name)
		}
	}
	switch len(alike) {
	case 1:
		return alike[0], ""
	case 0:
		return "", fmt.Sprintf("no machine profile of the cluster is of %s with %d sockets, %d NUMA nodes and %d CPUs: measure one with bandmate machine and apply it, or name the machine with --machine",
			m.CPUModel, m.Sockets(), len(m.Nodes), len(m.CPUs))
	}
	return "", fmt.Sprintf("the machine profiles %s are all of such a machine: choose one with --machine", strings.Join(alike, ", "))
}
