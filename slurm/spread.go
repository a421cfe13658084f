package slurm

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/slurm/sbatch"
)

// RequestIn is RequestOf in a cluster. A job that leaves the number of nodes to Slurm gets
// as many as it needs there for its CPUs, its memory and its generic resources. One that
// names a range gets as many of it as have room now, or else as many as it needs.
func (s *Site) RequestIn(c *Cluster, component *sbatch.Component, user string) (Request, error) {
	r, err := s.RequestOf(component, user)
	least, most := component.Nodes()
	tasks := component.Number("ntasks", least)
	if err != nil || least == most || component.Has("ntasks-per-node") {
		return r, err
	}
	onNode, fewest := r.mostOnNode(c)
	if fewest <= tasks && !component.Has("nodes") {
		least = max(least, fewest)
	}
	// CPUs of one task are on one node.
	perNode := tasks
	if onNode > 0 && !component.Has("overcommit") {
		perNode = max(1, min(tasks, onNode/component.Number("cpus-per-task", 1)))
	}
	on := func(nodes int) Request {
		r, _ := s.RequestOf(component.On(nodes), user) // its host lists have been read above
		if component.Splits(tasks, nodes) {
			r.CPUsPerTask = float64(component.Number("cpus-per-task", 1))
		}
		return r
	}
	if component.Has("nodes") {
		if component.Has("ntasks") {
			most = min(most, tasks)
		}
		within := NodeRange{Least: least, Most: most, On: on}
		if r, found := within.Widest(c, NewRoom(c)); found {
			return r, nil
		}
	}
	nodesFor := func(perNode int) int { return min(most, max(least, (tasks+perNode-1)/perNode)) }
	first := on(nodesFor(perNode))
	if len(first.Matching(c)) >= first.Nodes {
		return first, nil
	}
	for tried := first.Nodes; perNode >= 1 && tried <= len(c.Nodes); perNode-- {
		nodes := nodesFor(perNode)
		if nodes == tried {
			continue
		}
		tried = nodes
		if r := on(nodes); len(r.Matching(c)) >= nodes {
			return r, nil
		}
	}
	return first, nil
}

// mostNodes returns how many nodes the partitions of the job give it at most.
func (r *Request) mostNodes(c *Cluster) int {
	most := 0
	for _, name := range r.partitions(c) {
		p := c.partition(name)
		if p == nil || p.MostNodes == 0 {
			return math.MaxInt
		}
		most = max(most, p.MostNodes)
	}
	return cmp.Or(most, math.MaxInt)
}

// mostOnNode returns how many CPUs the job may have of one node of its partitions, and how many
// nodes these give a job at least.
func (r *Request) mostOnNode(c *Cluster) (cpus, fewest int) {
	partitions := r.partitions(c)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if len(partitions) == 0 {
			cpus = max(cpus, n.CPUs)
		}
		for _, name := range partitions {
			switch p := c.partition(name); {
			case !slices.Contains(n.Partitions, name):
			case p != nil && p.MostCPUsPerNode > 0:
				cpus = max(cpus, min(n.CPUs, p.MostCPUsPerNode))
			default:
				cpus = max(cpus, n.CPUs)
			}
		}
	}
	for i, name := range partitions {
		if p := c.partition(name); p != nil && (i == 0 || p.LeastNodes < fewest) {
			fewest = p.LeastNodes
		}
	}
	return cpus, fewest
}

// CPUsOn returns how many CPUs of a node the job takes at least where it shares the node:
// whole cores, and where it uses one thread of each, a core for each of its CPUs; or whole
// sockets.
func (r *Request) CPUsOn(n *Node) float64 {
	cpus, perCore := r.CPUsPerNode, float64(n.cpusPerCore())
	switch {
	case perCore == 1:
	case r.ThreadsPerCore == 1:
		cpus = math.Ceil(cpus) * perCore
	default:
		cpus = math.Ceil(cpus/perCore) * perCore
	}
	if perSocket := perCore * float64(n.CoresPerSocket); n.WholeSockets && perSocket > 0 {
		// Less where the system has cores of the last socket.
		return max(cpus, min(math.Ceil(cpus/perSocket)*perSocket, float64(n.CPUs)))
	}
	return cpus
}
