package slurm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// Cluster is what one call of squeue and one of sinfo saw. It is not changed
// after reading, and safe for concurrent use.
type Cluster struct {
	// Name and Version are Slurm's; empty when it did not say.
	Name, Version string
	// Time is when squeue was asked.
	Time time.Time
	// Nodes are in natural order (n2 before n10), each once.
	Nodes []Node
	// Partitions are sorted by name.
	Partitions []Partition
	// Jobs are the records of squeue in its order.
	Jobs []Job
	// Consumable says what jobs take of nodes.
	Consumable Consumable
	// Reservations are those that are active or to come; nil when Slurm did not tell.
	Reservations []Reservation
	// Warnings say what was not understood and how it was taken.
	Warnings []string
}

// ErrNoJob means that squeue does not list the job.
var ErrNoJob = errors.New("no such job in the queue: see squeue; finished jobs leave it, and with PrivateData those of others are hidden")

// Job returns the record that a user calls by this name: a job id, ID_TASK of an
// array, ID+OFFSET of a heterogeneous job. ID alone is the leader of a
// heterogeneous job, and of an array its pending tasks, or else its first task.
func (c *Cluster) Job(name string) (*Job, error) {
	for i := range c.Jobs {
		if c.Jobs[i].matches(name) {
			return &c.Jobs[i], nil
		}
	}
	for i := range c.Jobs {
		if j := &c.Jobs[i]; j.ArrayID != 0 && fmt.Sprint(j.ArrayID) == name {
			return j, nil
		}
	}
	return nil, fmt.Errorf("job %q: %w", name, ErrNoJob)
}

// Node returns the node of this name, nil if there is none.
func (c *Cluster) Node(name string) *Node {
	i, found := slices.BinarySearchFunc(c.Nodes, name, func(n Node, name string) int { return hostlist.Compare(n.Name, name) })
	if !found {
		return nil
	}
	return &c.Nodes[i]
}

// Partition returns the partition of this name; false if there is none.
func (c *Cluster) Partition(name string) (Partition, bool) {
	p := c.partition(name)
	if p == nil {
		return Partition{}, false
	}
	return *p, true
}

func (c *Cluster) partition(name string) *Partition {
	i := slices.IndexFunc(c.Partitions, func(p Partition) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Partitions[i]
}

// DefaultPartition returns the name of the partition of jobs that name none;
// empty when no partition is the default.
func (c *Cluster) DefaultPartition() string {
	i := slices.IndexFunc(c.Partitions, func(p Partition) bool { return p.Default })
	if i < 0 {
		return ""
	}
	return c.Partitions[i].Name
}

// With returns a copy of the cluster in which a job of this request runs on nodes. A job that
// takes a range of nodes runs with all of its CPUs on these.
func (c *Cluster) With(r *Request, nodes []string) *Cluster {
	on := *r
	on.Narrow(len(nodes))
	r = &on
	more := *c
	more.Jobs = append(slices.Clip(c.Jobs), r.placed(nodes))
	more.Nodes = slices.Clone(c.Nodes)
	for _, name := range nodes {
		n := more.Node(name)
		if n == nil {
			continue
		}
		n.AllocatedCPUs += int(math.Ceil(r.CPUsOn(n)))
		n.AllocatedMemory += r.memory(c, n)
		used := map[string]int{}
		maps.Copy(used, n.GresUsed)
		for kind, count := range r.Gres {
			used[kind] += count
		}
		n.GresUsed = used
	}
	return &more
}

// placed is a job of the request on nodes.
func (r *Request) placed(nodes []string) Job {
	comment := ApplicationWord + "=" + r.Application
	if r.Limit > 0 {
		comment += fmt.Sprintf(" %s=%g", LimitWord, float64(r.Limit))
	}
	return Job{
		ID: -1, State: Running, Comment: comment, Exclusive: r.Exclusive, ExclusiveUser: r.ExclusiveUser, Oversubscribe: r.Oversubscribe,
		User: r.User, Partitions: r.Partitions, Reservation: r.Reservation,
		Nodes: nodes, NodeCount: len(nodes), CPUs: int(r.CPUsPerNode * float64(len(nodes))),
	}
}
