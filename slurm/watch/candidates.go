package watch

import (
	"slices"

	"bandmate.dev/bandmate/slurm"
)

// candidates are the nodes on which a waiting job may ever start. Unlike
// Request.Eligible it keeps the nodes that are down: they may come back before
// the next round, and what is said about them has to be right then.
func candidates(c *slurm.Cluster, q *slurm.Request) []*slurm.Node {
	partitions := q.Partitions
	if len(partitions) == 0 {
		partitions = []string{c.DefaultPartition()}
	}
	var nodes []*slurm.Node
	for i := range c.Nodes {
		n := &c.Nodes[i]
		switch {
		case !slices.ContainsFunc(partitions, func(p string) bool { return slices.Contains(n.Partitions, p) }):
		case n.CPUs > 0 && q.CPUsPerNode > float64(n.CPUs):
		case !n.Offers(q.Features), slices.Contains(q.Excluded, n.Name):
		default:
			nodes = append(nodes, n)
		}
	}
	return nodes
}
