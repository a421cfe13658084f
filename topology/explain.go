package topology

import (
	"fmt"
	"strings"
)

// explain says where target and interferer run and what they share. It judges
// the sets themselves, so it also holds for sets the caller chose.
func (m *Machine) explain(p Placement) string {
	text := fmt.Sprintf("The target runs on %s, the interferer on %s", m.place(p.Target), m.place(p.Interferer))
	switch {
	case p.MemoryNode != nil:
		text += fmt.Sprintf("; the memory of both is on node %d", *p.MemoryNode)
	case len(m.Nodes) == 1:
		text += "; there is one memory for both"
	default:
		text += "; memory is not bound to a node"
	}
	return text + ". " + m.sharing(p)
}

// place names CPUs with their socket and node where there are several.
func (m *Machine) place(cpus interface{ String() string }) string {
	return "CPUs " + cpus.String()
}

func (m *Machine) sharing(p Placement) string {
	target, interferer := m.sockets(p.Target), m.sockets(p.Interferer)
	switch {
	case target.Size() > 0 && interferer.Size() > 0 && target.Intersection(interferer).IsEmpty():
		return fmt.Sprintf("They are on different sockets (%s and %s) and meet at the memory controllers, which the interferer reaches across the socket link.", target, interferer)
	case p.SharedLastLevelCache != nil && !*p.SharedLastLevelCache:
		return "They have different last-level caches and meet at the memory controllers."
	case p.SharedLastLevelCache != nil:
		return "They share a last-level cache as well as the memory controllers."
	}
	return "They share the memory controllers."
}

// warnings lists what a placement measures beside memory contention.
func (m *Machine) warnings(p Placement) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }

	if both := m.siblings(p.Target).Intersection(p.Interferer); !both.IsEmpty() {
		warn("interferer CPUs %s are SMT siblings of target CPUs: the curves will also hold contention for the core itself", both)
	}
	switch {
	case p.SharedLastLevelCache == nil:
		warn("the kernel does not say whether target and interferer share a last-level cache: the curves may also hold contention for cache")
	case *p.SharedLastLevelCache:
		warn("target and interferer share a last-level cache: the curves will hold contention for cache and for bandwidth")
	}
	nodes := m.byNode(p.Target)
	switch {
	case p.MemoryNode == nil && len(nodes) > 1:
		warn("the target spans %d NUMA nodes, so its memory and the interferer's are not bound and may not meet: choose CPUs of one node, or a memory node", len(nodes))
	case p.MemoryNode != nil:
		if _, local := nodes[*p.MemoryNode]; !local {
			warn("memory node %d is not the target's own: its solo time includes the way to remote memory", *p.MemoryNode)
		}
	}
	if m.VirtualMachine {
		warn("this is a virtual machine%s: sockets, nodes and caches are what the hypervisor claims, and it may move CPUs while they run", under(m.Hypervisor))
	}
	return list
}

func under(hypervisor string) string {
	if strings.TrimSpace(hypervisor) == "" {
		return ""
	}
	return " (" + hypervisor + ")"
}
