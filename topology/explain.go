package topology

import (
	"fmt"

	"k8s.io/utils/cpuset"
)

// explain says where target and interferer run and what they share.
func (m *Machine) explain(p Placement) string {
	text := fmt.Sprintf("The target runs on %s, the interferer on %s; ", cpuText(p.Target), cpuText(p.Interferer))
	switch {
	case p.MemoryNode != nil:
		text += fmt.Sprintf("the memory of both is on node %d. ", *p.MemoryNode)
	case len(m.Nodes) == 1:
		text += "there is one memory for both. "
	default:
		text += "their memory is not bound to a node. "
	}
	return text + m.meeting(p)
}

func cpuText(cpus cpuset.CPUSet) string {
	if cpus.Size() == 1 {
		return "CPU " + cpus.String()
	}
	return "CPUs " + cpus.String()
}

// meeting says what target and interferer share.
func (m *Machine) meeting(p Placement) string {
	target, interferer := m.sockets(p.Target), m.sockets(p.Interferer)
	apart := !target.IsEmpty() && !interferer.IsEmpty() && target.Intersection(interferer).IsEmpty()
	switch {
	case apart && m.isRemote(p.Interferer, p.MemoryNode):
		return "They are on different sockets and meet at the memory controllers, which the interferer reaches over the link between the sockets."
	case apart:
		return "They are on different sockets."
	case p.SharedLastLevelCache == nil:
		return "They meet at the memory controllers, and perhaps in a cache that the kernel does not list."
	case *p.SharedLastLevelCache:
		return "They meet in a last-level cache and at the memory controllers."
	}
	return "They have different last-level caches and meet at the memory controllers."
}

// isRemote reports whether memory is bound to a node that cpus do not lie on.
func (m *Machine) isRemote(cpus cpuset.CPUSet, memoryNode *int) bool {
	if memoryNode == nil {
		return false
	}
	_, local := m.byNode(cpus)[*memoryNode]
	return !local
}

// warnings lists the effects beside memory contention that a placement measures.
func (m *Machine) warnings(p Placement) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }

	if both := m.siblings(p.Target).Intersection(p.Interferer); !both.IsEmpty() {
		warn("interferer %s and the target share a core (SMT): the curves will also hold contention for the core itself", cpuText(both))
	}
	switch {
	case p.SharedLastLevelCache == nil:
		warn("it is not known whether target and interferer share a last-level cache: the curves may also hold contention for cache")
	case *p.SharedLastLevelCache:
		warn("target and interferer share a last-level cache: the curves will hold contention for cache and for bandwidth")
	}
	if nodes := m.byNode(p.Target); p.MemoryNode == nil && len(nodes) > 1 {
		warn("the target spans %d NUMA nodes, so its memory and the interferer's are not bound and may not meet: choose CPUs of one node, or a memory node", len(nodes))
	}
	if m.isRemote(p.Target, p.MemoryNode) {
		warn("memory node %d is not the target's own: its solo time includes the way to remote memory", *p.MemoryNode)
	}
	if m.VirtualMachine {
		warn("this is a virtual machine%s: sockets, nodes and caches are what the hypervisor claims, and it may move CPUs while they run", under(m.Hypervisor))
	}
	return list
}

func under(hypervisor string) string {
	if hypervisor == "" {
		return ""
	}
	return " (" + hypervisor + ")"
}
