package watch

import (
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm"
)

// candidates are the nodes on which a waiting job may start: in one of its
// partitions, with the features it asks for, with CPUs enough, and not excluded
// by the user. Among them are nodes that are down: they may come back.
func candidates(c *slurm.Cluster, j *slurm.Job, usersExclusion []string) []*slurm.Node {
	var nodes []*slurm.Node
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !slices.ContainsFunc(partitions(c, j), func(p string) bool { return slices.Contains(n.Partitions, p) }) {
			continue
		}
		if n.CPUs > 0 && j.CPUsPerNode() > float64(n.CPUs) {
			continue
		}
		if offers(n, j.Features) && !slices.Contains(usersExclusion, n.Name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// partitions are where the job may run; the default one if it names none.
func partitions(c *slurm.Cluster, j *slurm.Job) []string {
	if len(j.Partitions) > 0 {
		return j.Partitions
	}
	return []string{c.DefaultPartition()}
}

// offers reports whether a node has the features of a constraint. Of the
// language of --constraint only "a&b" is read; what says more, as "a|b", "[a*2]"
// and "(a|b)&c", is answered yes: Slurm decides, and Reconcile takes an
// exclusion back under which it finds no node.
func offers(n *slurm.Node, constraint string) bool {
	if constraint == "" || strings.ContainsAny(constraint, "|[](){}*:,") {
		return true
	}
	for feature := range strings.SplitSeq(constraint, "&") {
		if !slices.Contains(n.Features, feature) {
			return false
		}
	}
	return true
}

// room is how many CPUs of every node are free for jobs that are expected.
// Slurm counts shared CPUs per partition, so residents are counted by their jobs.
type room map[string]float64

func newRoom(c *slurm.Cluster) room {
	used := make(room)
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Occupies() && j.State != slurm.Suspended {
			continue
		}
		for _, name := range j.Nodes {
			if n := c.Node(name); n != nil {
				used.take(n, j)
			}
		}
	}
	return used
}

// take books what a job holds, or would hold, on a node.
func (r room) take(n *slurm.Node, j *slurm.Job) {
	cpus := j.CPUsPerNode()
	if j.Occupies() {
		cpus = j.CPUsOn(n)
	}
	if j.Exclusive {
		cpus = max(cpus, float64(n.CPUs))
	}
	r[n.Name] += cpus
}

// has reports whether a waiting job fits on a node now.
func (r room) has(c *slurm.Cluster, n *slurm.Node, j *slurm.Job) bool {
	if !n.Available() {
		return false
	}
	shares := 1
	for _, name := range partitions(c, j) {
		p, ok := c.Partition(name)
		switch {
		case !ok:
		case p.OverSubscribe == "EXCLUSIVE":
			return r[n.Name] == 0
		default:
			shares = max(shares, p.Shares())
		}
	}
	if j.Exclusive {
		return r[n.Name] == 0
	}
	return r[n.Name]+j.CPUsPerNode() <= float64(n.CPUs*shares)
}
