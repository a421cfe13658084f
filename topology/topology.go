// Package topology reads which CPUs, caches and NUMA nodes a machine has, and
// places a target and an interferer on them so that their traffic meets at the
// same memory.
package topology

import (
	"slices"

	"k8s.io/utils/cpuset"
)

// Machine is what the kernel reports of one machine at one time. CPUs that are
// offline are not part of it.
type Machine struct {
	// CPUModel is the processor as the kernel names it; empty when unknown.
	CPUModel string
	// VirtualMachine is true when the kernel sees a hypervisor under it.
	VirtualMachine bool
	// Hypervisor names it, for example "KVM"; empty when unknown.
	Hypervisor string
	// CPUs are the online CPUs in ascending order.
	CPUs []CPU
	// Nodes are the online NUMA nodes in ascending order, at least one: a
	// kernel without NUMA yields node 0 with all CPUs and no Distances.
	Nodes []Node
	// Caches are ordered by level, type and lowest CPU; empty when the kernel
	// does not describe them.
	Caches []Cache
	// MemoryBytes is what the kernel manages in all nodes together.
	MemoryBytes int64
}

// CPU is one logical CPU: a hardware thread.
type CPU struct {
	// ID is the kernel's number, as in taskset.
	ID int
	// Core is the lowest ID among the online CPUs of the same core, so SMT
	// siblings, and only they, have the same Core. The kernel's own core_id
	// repeats from socket to socket.
	Core int
	// Socket is the physical package; -1 when the firmware does not say, as
	// on some Arm machines.
	Socket int
	// Node is the NUMA node; -1 when the kernel lists the CPU in none.
	Node int
}

// Cache is one instance of a cache.
type Cache struct {
	// Level is 1 for the nearest to the core.
	Level int
	// Type is Data, Instruction or Unified.
	Type string
	// Bytes is the capacity; 0 when the firmware does not say.
	Bytes int64
	// CPUs share the cache; only online ones are listed.
	CPUs cpuset.CPUSet
}

// Node is one NUMA node: memory with the CPUs nearest to it.
type Node struct {
	ID int
	// CPUs are the online ones. A node without CPUs is memory only, such as a
	// CXL expander or the memory of an accelerator.
	CPUs cpuset.CPUSet
	// MemoryBytes is the memory of the node; 0 for a node of CPUs only.
	MemoryBytes int64
	// Distances to the nodes of the machine, in the order of Machine.Nodes,
	// relative to 10 for local access (ACPI SLIT); nil when unknown.
	Distances []int
}

// Online returns the CPUs of the machine.
func (m *Machine) Online() cpuset.CPUSet {
	ids := make([]int, len(m.CPUs))
	for i, c := range m.CPUs {
		ids[i] = c.ID
	}
	return cpuset.New(ids...)
}

// Sockets counts the physical packages with an online CPU. CPUs of unknown
// socket count as one.
func (m *Machine) Sockets() int {
	seen := map[int]bool{}
	for _, c := range m.CPUs {
		seen[c.Socket] = true
	}
	return len(seen)
}

// CPU returns the CPU with a number; false when it is not online.
func (m *Machine) CPU(id int) (CPU, bool) {
	i, found := slices.BinarySearchFunc(m.CPUs, id, func(c CPU, id int) int { return c.ID - id })
	if !found {
		return CPU{}, false
	}
	return m.CPUs[i], true
}

// Node returns the NUMA node with a number; false when it is not online.
func (m *Machine) Node(id int) (Node, bool) {
	i, found := m.nodeIndex(id)
	if !found {
		return Node{}, false
	}
	return m.Nodes[i], true
}

func (m *Machine) nodeIndex(id int) (int, bool) {
	return slices.BinarySearchFunc(m.Nodes, id, func(n Node, id int) int { return n.ID - id })
}

// LastLevelCache returns the data or unified cache of the highest level that
// the kernel lists for a CPU; false when it lists none. A memory-side or
// system-level cache, as on many Arm servers, is not listed.
func (m *Machine) LastLevelCache(cpu int) (Cache, bool) {
	var last Cache
	for _, c := range m.Caches {
		if c.Type != "Instruction" && c.Level > last.Level && c.CPUs.Contains(cpu) {
			last = c
		}
	}
	return last, last.Level > 0
}

// systemCacheLevel is the level below which a listed cache is rarely the last:
// server processors by Arm and Ampere have a system-level cache that the kernel
// does not list above their private second level.
const systemCacheLevel = 3

// SharesLastLevelCache reports whether any CPU of a shares its last-level cache or
// its core with any CPU of b. known is false when nothing is shared and the kernel
// lists no cache of level 3 or above for one of them.
func (m *Machine) SharesLastLevelCache(a, b cpuset.CPUSet) (shared, known bool) {
	if !m.siblings(a).Intersection(b).IsEmpty() {
		return true, true
	}
	known = !a.IsEmpty() && !b.IsEmpty()
	for _, cpu := range a.UnsortedList() {
		last, ok := m.LastLevelCache(cpu)
		if ok && !last.CPUs.Intersection(b).IsEmpty() {
			return true, true
		}
		known = known && ok && last.Level >= systemCacheLevel
	}
	for _, cpu := range b.UnsortedList() {
		last, ok := m.LastLevelCache(cpu)
		known = known && ok && last.Level >= systemCacheLevel
	}
	return false, known
}

// LastLevelCacheBytes returns the total size of the distinct last-level caches of
// cpus; false when one of them is unknown, has no size, or is below level 3, where
// a larger cache that the kernel does not list usually follows.
func (m *Machine) LastLevelCacheBytes(cpus cpuset.CPUSet) (int64, bool) {
	total := int64(0)
	for _, group := range m.byCache(cpus) {
		last, ok := m.LastLevelCache(group.List()[0])
		if !ok || last.Bytes == 0 || last.Level < systemCacheLevel {
			return 0, false
		}
		total += last.Bytes
	}
	return total, total > 0
}

// SharedCaches returns the last-level caches of cpus that several cores share, in the order
// of their lowest CPU. As with LastLevelCacheBytes, caches below level 3 and those without a
// size are left out.
func (m *Machine) SharedCaches(cpus cpuset.CPUSet) []Cache {
	var shared []Cache
	for _, group := range m.byCache(cpus) {
		last, ok := m.LastLevelCache(group.List()[0])
		if ok && last.Bytes > 0 && last.Level >= systemCacheLevel && len(m.cores(last.CPUs)) > 1 {
			shared = append(shared, last)
		}
	}
	return shared
}

// siblings returns the CPUs of the cores that cpus lie on, cpus included.
func (m *Machine) siblings(cpus cpuset.CPUSet) cpuset.CPUSet {
	cores := map[int]bool{}
	for _, c := range m.CPUs {
		if cpus.Contains(c.ID) {
			cores[c.Core] = true
		}
	}
	return m.where(func(c CPU) bool { return cores[c.Core] })
}

// where returns the CPUs that a condition holds for.
func (m *Machine) where(holds func(CPU) bool) cpuset.CPUSet {
	var ids []int
	for _, c := range m.CPUs {
		if holds(c) {
			ids = append(ids, c.ID)
		}
	}
	return cpuset.New(ids...)
}
