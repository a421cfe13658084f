package topology

import "k8s.io/utils/cpuset"

// Link is how co-runners reach the memory of a target.
type Link string

const (
	// UnknownLink means that the topology does not tell.
	UnknownLink Link = ""
	// NoLink means that co-runners are as near to the memory as the target.
	NoLink Link = "none"
	// SharedLink means that all co-runners come over one link: the one between two
	// sockets.
	SharedLink Link = "shared"
)

// Link returns how co-runners that run where the interferer of a placement does reach the
// memory of its target. It is unknown where memory is not bound on a machine of several
// nodes, from another node of the same socket, from several distances, and on more than
// two sockets, from which co-runners may come over several links.
func (m *Machine) Link(p Placement) Link {
	if p.MemoryNode == nil {
		if m.memoryNodes() > 1 {
			return UnknownLink
		}
		return NoLink
	}
	target, known := m.distanceFrom(p.Target, *p.MemoryNode)
	interferer, alsoKnown := m.distanceFrom(p.Interferer, *p.MemoryNode)
	if !known || !alsoKnown {
		return UnknownLink
	}
	if interferer <= target {
		return NoLink
	}
	home, away := m.sockets(p.Target), m.sockets(p.Interferer)
	if home.Size() == 1 && away.Size() == 1 && !home.Equals(away) && m.Sockets() == 2 {
		return SharedLink
	}
	return UnknownLink
}

// memoryNodes returns the number of nodes with memory.
func (m *Machine) memoryNodes() int {
	n := 0
	for _, node := range m.Nodes {
		if node.MemoryBytes > 0 {
			n++
		}
	}
	return n
}

// distanceFrom returns the distance of CPUs from a memory node; false where they are at
// several distances.
func (m *Machine) distanceFrom(cpus cpuset.CPUSet, memoryNode int) (distance int, same bool) {
	for node := range m.byNode(cpus) {
		d := m.distance(node, memoryNode)
		if same && d != distance {
			return 0, false
		}
		distance, same = d, true
	}
	return distance, same
}

// Distant reports whether co-runners that run where the interferer of a placement does
// are farther from the memory than its target.
func (m *Machine) Distant(p Placement) bool {
	if p.MemoryNode == nil {
		return false
	}
	target, known := m.distanceFrom(p.Target, *p.MemoryNode)
	interferer, alsoKnown := m.distanceFrom(p.Interferer, *p.MemoryNode)
	return known && alsoKnown && interferer > target
}
