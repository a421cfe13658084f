package topology

import (
	"maps"
	"slices"

	"k8s.io/utils/cpuset"
)

// sockets returns the socket numbers of cpus, without unknown ones.
func (m *Machine) sockets(cpus cpuset.CPUSet) cpuset.CPUSet {
	var ids []int
	for _, c := range m.CPUs {
		if c.Socket >= 0 && cpus.Contains(c.ID) {
			ids = append(ids, c.Socket)
		}
	}
	return cpuset.New(ids...)
}

// byNode divides cpus by NUMA node.
func (m *Machine) byNode(cpus cpuset.CPUSet) map[int]cpuset.CPUSet {
	return m.by(cpus, func(c CPU) int { return c.Node })
}

// cores divides cpus by core, in the order of their lowest CPU.
func (m *Machine) cores(cpus cpuset.CPUSet) []cpuset.CPUSet {
	groups := m.by(cpus, func(c CPU) int { return c.Core })
	return inOrder(groups)
}

// byCache divides cpus by last-level cache, in the order of their lowest CPU;
// CPUs of which no cache is known form a group of their own.
func (m *Machine) byCache(cpus cpuset.CPUSet) []cpuset.CPUSet {
	return inOrder(m.by(cpus, func(c CPU) int {
		last, ok := m.LastLevelCache(c.ID)
		if !ok {
			return -1
		}
		return last.CPUs.List()[0]
	}))
}

func (m *Machine) by(cpus cpuset.CPUSet, key func(CPU) int) map[int]cpuset.CPUSet {
	ids := map[int][]int{}
	for _, c := range m.CPUs {
		if cpus.Contains(c.ID) {
			k := key(c)
			ids[k] = append(ids[k], c.ID)
		}
	}
	groups := make(map[int]cpuset.CPUSet, len(ids))
	for k, members := range ids {
		groups[k] = cpuset.New(members...)
	}
	return groups
}

func inOrder(groups map[int]cpuset.CPUSet) []cpuset.CPUSet {
	return slices.SortedFunc(maps.Values(groups), func(a, b cpuset.CPUSet) int {
		return a.List()[0] - b.List()[0]
	})
}

// distance from one node to another as the firmware states it; without that,
// 10 within a node and 20 between two, the kernel's own assumption.
func (m *Machine) distance(from, to int) int {
	i, known := m.nodeIndex(from)
	j, alsoKnown := m.nodeIndex(to)
	switch {
	case known && alsoKnown && m.Nodes[i].Distances != nil:
		return m.Nodes[i].Distances[j]
	case from == to:
		return 10
	}
	return 20
}
