package measure

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// Cores assigns CPUs.
type Cores struct {
	// Computing are the CPUs that compute, in the order in which they join.
	Computing []int
	// Receiver receives messages, and Sender sends them. If both are the same CPU,
	// the bandwidth of communication is that of a core that does both.
	Receiver, Sender int
	// LocalNodes are the NUMA nodes of the socket that computes.
	LocalNodes []int
	// Warnings say what this choice affects.
	Warnings []string
}

// Choose assigns CPUs: the cores of the socket with the most usable ones compute, the first
// such socket among equals, all but the last core, which receives. The sender is on another
// socket, as a neighbor in the network would be, else a core that then does not compute,
// else the receiver. Where every socket has a single usable core, the first one computes and
// another one receives, with a warning. Sockets of one NUMA node count as one: hypervisors
// often make each CPU a socket of its own. Choose uses one CPU of each core, unless there is
// only one core. It chooses among the online CPUs of allowed; empty means all. With fewer than
// two the error is topology.ErrOneCPU.
func Choose(m *topology.Machine, allowed cpuset.CPUSet) (Cores, error) {
	usable := m.Online()
	if !allowed.IsEmpty() {
		usable = usable.Intersection(allowed)
	}
	if usable.Size() < 2 {
		return Cores{}, topology.ErrOneCPU
	}
	var c Cores
	cpus := oneOfEachCore(m, usable)
	if len(cpus) < 2 {
		cpus = usable.List()
		c.Warnings = append(c.Warnings, "computation and communication share a core: they lose more than memory bandwidth")
	}
	near, far := largestSocket(m, cpus)
	if len(near) < 2 {
		near, far = append(near, far[0]), far[1:]
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"CPU %d computes and CPU %d of another socket receives: no socket has two usable cores; allow this process more CPUs of one", near[0], near[1]))
	}
	last := len(near) - 1
	c.Receiver = near[last]
	switch {
	case len(far) > 0:
		c.Computing, c.Sender = near[:last], far[0]
	case len(near) > 2:
		c.Computing, c.Sender = near[:last-1], near[last-1]
	default:
		c.Computing, c.Sender = near[:last], c.Receiver
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"CPU %d sends and receives: one core does both, which is slower than a network card", c.Receiver))
	}
	c.Locate(m)
	return c, nil
}

// largestSocket divides CPUs into those of the socket with the most of them and the others.
func largestSocket(m *topology.Machine, cpus []int) (near, far []int) {
	for _, first := range cpus {
		var in []int
		for _, cpu := range cpus {
			if sameSocket(m, first, cpu) {
				in = append(in, cpu)
			}
		}
		if len(in) > len(near) {
			near = in
		}
	}
	for _, cpu := range cpus {
		if !slices.Contains(near, cpu) {
			far = append(far, cpu)
		}
	}
	return near, far
}

func oneOfEachCore(m *topology.Machine, usable cpuset.CPUSet) []int {
	type core struct{ socket, core int }
	seen := make(map[core]bool)
	var cpus []int
	for _, c := range m.CPUs {
		if at := (core{c.Socket, c.Core}); usable.Contains(c.ID) && !seen[at] {
			seen[at] = true
			cpus = append(cpus, c.ID)
		}
	}
	return cpus
}

// sameSocket reports whether two CPUs are in one socket, or in one NUMA node.
func sameSocket(m *topology.Machine, a, b int) bool {
	one, _ := m.CPU(a)
	other, _ := m.CPU(b)
	return one.Socket == other.Socket || one.Node >= 0 && one.Node == other.Node
}

func (c Cores) validate() error {
	var faults []error
	if len(c.Computing) == 0 {
		faults = append(faults, errors.New("no computing CPU: want one or more"))
	}
	if len(slices.Compact(slices.Sorted(slices.Values(c.Computing)))) != len(c.Computing) {
		faults = append(faults, fmt.Errorf("computing CPUs %v: want each once", c.Computing))
	}
	if slices.Contains(c.Computing, c.Receiver) || slices.Contains(c.Computing, c.Sender) {
		faults = append(faults, fmt.Errorf("CPUs %v compute, %d receives, %d sends: want others for the messages", c.Computing, c.Receiver, c.Sender))
	}
	return errors.Join(faults...)
}

// Locate finds LocalNodes, those of the sockets of the computing CPUs.
func (c *Cores) Locate(m *topology.Machine) {
	c.LocalNodes = nil
	for _, computing := range c.Computing {
		for _, cpu := range m.CPUs {
			if sameSocket(m, cpu.ID, computing) && cpu.Node >= 0 && !slices.Contains(c.LocalNodes, cpu.Node) {
				c.LocalNodes = append(c.LocalNodes, cpu.Node)
			}
		}
	}
}

// localFirst returns nodes in the order in which the model numbers them: those of the socket
// that computes, then the others.
func (c Cores) localFirst(nodes []int) []int {
	local, remote := []int{}, []int{}
	for _, n := range nodes {
		if slices.Contains(c.LocalNodes, n) {
			local = append(local, n)
		} else {
			remote = append(remote, n)
		}
	}
	return append(local, remote...)
}

// numbering says of nodes in the order of localFirst what a sweep does not tell.
func (c Cores) numbering(nodes []int) []string {
	var notes []string
	for i, node := range nodes {
		if i != node {
			notes = append(notes, fmt.Sprintf("nodes are numbered from 0, those of the socket that computes first: they are NUMA nodes %v", nodes))
			break
		}
	}
	if local := c.nodesPerSocket(nodes); local > 1 {
		notes = append(notes, fmt.Sprintf("the socket that computes has %d of the nodes: bandmate overlap fit needs --nodes-per-socket %d", local, local))
	}
	return notes
}

// nodesPerSocket returns the number of measured nodes that are local.
func (c Cores) nodesPerSocket(nodes []int) int {
	local := 0
	for _, n := range nodes {
		if slices.Contains(c.LocalNodes, n) {
			local++
		}
	}
	return max(1, local)
}
