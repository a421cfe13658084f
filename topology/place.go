package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/cpuset"
)

// ErrOneCPU is returned by Place when fewer than two CPUs may be used, so that
// nothing can run beside anything.
var ErrOneCPU = errors.New("only one CPU may be used, and the interferer needs one of its own")

// Request is what the caller asks of a placement. The zero value leaves every
// choice to Place.
type Request struct {
	// Target and Interferer are the CPUs to use; an empty set is chosen.
	Target, Interferer cpuset.CPUSet
	// Allowed is the affinity mask to stay within (AllowedCPUs); empty means
	// every online CPU.
	Allowed cpuset.CPUSet
	// MemoryNode is the NUMA node both are to be bound to; nil is chosen.
	MemoryNode *int
}

// Placement says where the target and the interferer run.
type Placement struct {
	// Target and Interferer are disjoint and not empty.
	Target, Interferer cpuset.CPUSet
	// MemoryNode is the NUMA node that the memory of both is bound to; nil
	// means unbound, because there is only one or the target spans several.
	MemoryNode *int
	// SharedLastLevelCache tells whether they share a last-level cache; nil
	// when the kernel does not say.
	SharedLastLevelCache *bool
	// Explanation says in a sentence or two where they are and why.
	Explanation string
	// Warnings say what this placement will measure beside memory contention.
	Warnings []string
}

// Place chooses CPUs and memory for an experiment so that target and interferer
// share the memory and as little else as possible:
//
//   - With two sockets or more, the target takes one NUMA node and its memory; the
//     interferer takes another socket and uses the target's memory across the link,
//     as in Zacarias et al. 2020.
//   - With several NUMA nodes on one socket, the interferer takes the other
//     nodes and uses the target's memory.
//   - On one node with several last-level caches, each takes half of the caches.
//   - On one node with one, each takes half of the cores.
//
// An odd core or cache goes to the target. The target keeps all SMT siblings of its
// cores; the interferer gets one CPU per core. A core is shared only where there is
// just one. CPU sets of the request are kept.
//
// The error is ErrOneCPU, or joins every fault of the request.
func (m *Machine) Place(r Request) (Placement, error) {
	allowed := m.Online()
	if !r.Allowed.IsEmpty() {
		allowed = allowed.Intersection(r.Allowed)
	}
	if err := m.validate(r, allowed); err != nil {
		return Placement{}, err
	}
	p := Placement{Target: r.Target, Interferer: r.Interferer, MemoryNode: r.MemoryNode}
	if p.Target.IsEmpty() {
		p.Target = m.chooseTarget(r, allowed)
	}
	if p.MemoryNode == nil {
		p.MemoryNode = m.chooseMemory(p.Target)
	}
	if p.Interferer.IsEmpty() {
		p.Interferer = m.chooseInterferer(p, allowed)
	}
	if shared, known := m.SharesLastLevelCache(p.Target, p.Interferer); known {
		p.SharedLastLevelCache = &shared
	}
	p.Explanation = m.explain(p)
	p.Warnings = m.warnings(p)
	return p, nil
}

// validate reports every fault of a request at once.
func (m *Machine) validate(r Request, allowed cpuset.CPUSet) error {
	switch allowed.Size() {
	case 0:
		return fmt.Errorf("none of the allowed CPUs %s is online (online: %s)", r.Allowed, m.Online())
	case 1:
		return fmt.Errorf("CPU %s: %w: give the machine or the container a second CPU, or widen the affinity (taskset, cpuset cgroup)", allowed, ErrOneCPU)
	}
	var faults []error
	for _, set := range []struct {
		name string
		cpus cpuset.CPUSet
	}{{"target", r.Target}, {"interferer", r.Interferer}} {
		if off := set.cpus.Difference(m.Online()); !off.IsEmpty() {
			faults = append(faults, fmt.Errorf("%s CPUs %s: offline or not there: choose from %s", set.name, off, allowed))
		}
		if out := set.cpus.Intersection(m.Online()).Difference(allowed); !out.IsEmpty() {
			faults = append(faults, fmt.Errorf("%s CPUs %s: not allowed for this process: choose from %s, or widen its affinity (taskset, cpuset cgroup)", set.name, out, allowed))
		}
		if allowed.IsSubsetOf(set.cpus) {
			faults = append(faults, fmt.Errorf("%s CPUs %s: takes every allowed CPU: leave one out", set.name, set.cpus))
		}
	}
	if both := r.Target.Intersection(r.Interferer); !both.IsEmpty() {
		faults = append(faults, fmt.Errorf("CPUs %s are both the target's and the interferer's: give each its own", both))
	}
	if r.MemoryNode != nil {
		faults = append(faults, m.validateMemory(*r.MemoryNode))
	}
	return errors.Join(faults...)
}

func (m *Machine) validateMemory(id int) error {
	node, online := m.Node(id)
	if online && node.MemoryBytes > 0 {
		return nil
	}
	var with []int
	for _, n := range m.Nodes {
		if n.MemoryBytes > 0 {
			with = append(with, n.ID)
		}
	}
	return fmt.Errorf("memory node %d: no such node or no memory on it: choose from %s", id, cpuset.New(with...))
}

// chooseTarget takes the allowed CPUs of one node, or a part of them when
// nothing outside would be left for the interferer.
func (m *Machine) chooseTarget(r Request, allowed cpuset.CPUSet) cpuset.CPUSet {
	free := firstNonEmpty(
		allowed.Difference(m.siblings(r.Interferer)),
		allowed.Difference(r.Interferer))
	home := m.home(r, free)
	local := m.where(func(c CPU) bool { return c.Node == home && free.Contains(c.ID) })
	if !r.Interferer.IsEmpty() || !free.IsSubsetOf(local) {
		return local
	}
	return m.firstHalf(local)
}

// home is the node for the target: nearest to the requested memory, else away
// from the interferer's sockets, with memory, with the most cores, and first.
func (m *Machine) home(r Request, free cpuset.CPUSet) int {
	type candidate struct{ node, distance, interferer, noMemory, cores int }
	var candidates []candidate
	busy := m.sockets(r.Interferer)
	for node, cpus := range m.byNode(free) {
		c := candidate{node: node, cores: len(m.cores(cpus))}
		if r.MemoryNode != nil {
			c.distance = m.distance(node, *r.MemoryNode)
		}
		if m.sockets(cpus).Intersection(busy).Size() > 0 {
			c.interferer = 1
		}
		if n, ok := m.Node(node); !ok || n.MemoryBytes == 0 {
			c.noMemory = 1
		}
		candidates = append(candidates, c)
	}
	best := slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.interferer, b.interferer),
			cmp.Compare(a.noMemory, b.noMemory), cmp.Compare(b.cores, a.cores), cmp.Compare(a.node, b.node))
	})
	return best.node
}

// firstHalf divides the CPUs of one node by last-level cache, else by core,
// else by thread, and returns the first half, rounded up.
func (m *Machine) firstHalf(cpus cpuset.CPUSet) cpuset.CPUSet {
	groups := m.byCache(cpus)
	if len(groups) < 2 {
		groups = m.cores(cpus)
	}
	if len(groups) < 2 {
		groups = nil
		for _, id := range cpus.List() {
			groups = append(groups, cpuset.New(id))
		}
	}
	return cpuset.New().Union(groups[:(len(groups)+1)/2]...)
}

// chooseMemory binds to the node of the target's CPUs, or the nearest with
// memory. Nothing is bound on a machine with one such node, nor for a target
// that spans several.
func (m *Machine) chooseMemory(target cpuset.CPUSet) *int {
	var with []int
	for _, n := range m.Nodes {
		if n.MemoryBytes > 0 {
			with = append(with, n.ID)
		}
	}
	homes := m.byNode(target)
	if len(with) < 2 || len(homes) != 1 {
		return nil
	}
	for home := range homes {
		slices.SortStableFunc(with, func(a, b int) int {
			return cmp.Compare(m.distance(home, a), m.distance(home, b))
		})
	}
	return &with[0]
}

// chooseInterferer takes one CPU per core, as far from the target as possible:
// on another socket, node, last-level cache, or core.
func (m *Machine) chooseInterferer(p Placement, allowed cpuset.CPUSet) cpuset.CPUSet {
	free := firstNonEmpty(
		allowed.Difference(m.siblings(p.Target)),
		allowed.Difference(p.Target))
	within := func(holds func(CPU) bool) cpuset.CPUSet { return m.where(holds).Intersection(free) }

	sockets, nodes := m.sockets(p.Target), m.byNode(p.Target)
	elsewhere := within(func(c CPU) bool { return c.Socket >= 0 && !sockets.Contains(c.Socket) })
	caches := cpuset.New()
	for _, id := range p.Target.List() {
		if last, ok := m.LastLevelCache(id); ok {
			caches = caches.Union(last.CPUs)
		}
	}
	chosen := firstNonEmpty(
		m.nearestSocket(p, elsewhere),
		within(func(c CPU) bool { _, same := nodes[c.Node]; return !same }),
		within(func(c CPU) bool { _, listed := m.LastLevelCache(c.ID); return listed && !caches.Contains(c.ID) }),
		free)
	var ids []int
	for _, core := range m.cores(chosen) {
		ids = append(ids, core.List()[0])
	}
	return cpuset.New(ids...)
}

// nearestSocket returns those of the CPUs that lie in the socket nearest to the memory of a
// placement, or to its target where that is unbound. Sockets of one NUMA node count as one:
// hypervisors often make each CPU a socket of its own.
func (m *Machine) nearestSocket(p Placement, cpus cpuset.CPUSet) cpuset.CPUSet {
	best, nearest := -1, 0
	for _, id := range cpus.List() {
		c, _ := m.CPU(id)
		d := 0
		if p.MemoryNode != nil {
			d = m.distance(c.Node, *p.MemoryNode)
		}
		if best < 0 || d < nearest {
			best, nearest = c.Socket, d
		}
	}
	nodes := m.byNode(cpus.Intersection(m.where(func(c CPU) bool { return c.Socket == best })))
	return cpus.Intersection(m.where(func(c CPU) bool { _, same := nodes[c.Node]; return same }))
}

// firstNonEmpty returns the first set that is not empty, else an empty one.
func firstNonEmpty(sets ...cpuset.CPUSet) cpuset.CPUSet {
	for _, s := range sets {
		if !s.IsEmpty() {
			return s
		}
	}
	return cpuset.New()
}
