package slurm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/units"
)

// Request is a job to place: one that waits, one that runs, or one that is not
// submitted yet.
type Request struct {
	// Job is the record when the job is in the queue, nil otherwise; a job that
	// runs is not a neighbor of its own.
	Job *Job
	// Application is the name of its profile.
	Application string
	// Source says how the application is known, for people.
	Source string
	// Nodes is how many nodes it wants, CPUsPerNode how many CPUs on each.
	Nodes       int
	CPUsPerNode float64
	// CPUsPerTask is how many CPUs it takes at least where Slurm may place more of its tasks
	// on one node than on another; 0 where every node gets as many.
	CPUsPerTask float64
	// ThreadsPerCore is how many threads of each core it uses; 0 for all.
	ThreadsPerCore int
	// Copies is how many such jobs are to be placed, as of an array; 0 counts
	// as 1.
	Copies int
	// Partitions are those it may run in; none means the default one.
	Partitions []string
	// Features is its constraint on nodes.
	Features string
	// Exclusive jobs share no node, ExclusiveUser ones only with jobs of the same user.
	Exclusive, ExclusiveUser bool
	// Oversubscribe is true when it may share CPUs where a partition lets jobs ask for that.
	Oversubscribe bool
	// Memory is what it asks for on each node, in MiB; 0 for what Slurm gives by default,
	// WholeMemory for all that the node has. Gres counts the generic resources that it asks
	// for on each node.
	Memory int
	Gres   map[string]int
	// Reservation names the one in which it runs, or several with commas between them;
	// empty for none.
	Reservation string
	// TimeLimit is how long it may run; 0 when it is not known, or, of a job in the queue,
	// unlimited.
	TimeLimit time.Duration
	// User submits it; empty when that is not known.
	User string
	// Required and Excluded are the user's own choice of nodes.
	Required, Excluded []string
	// Limit is the slowdown it may suffer; 0 means Options.Limit.
	Limit units.Slowdown

	// within is the range of nodes that Nodes was chosen from; nil without one.
	within *NodeRange
}

// WholeMemory is the memory of a job that asks for all of each node's (--mem=0).
const WholeMemory = -1

// mostCopies bounds how many tasks of an array are placed one by one; by then
// every node of a sensible size has its share.
const mostCopies = 64

// Validate reports every fault of r at once.
func (r *Request) Validate() error {
	var faults []error
	if r.Nodes < 1 {
		faults = append(faults, fmt.Errorf("%d nodes: want 1 or more", r.Nodes))
	}
	if !(r.CPUsPerNode > 0) || r.CPUsPerNode > 1<<20 {
		faults = append(faults, fmt.Errorf("%v CPUs on each node: want more than 0", r.CPUsPerNode))
	}
	if r.Copies < 0 {
		faults = append(faults, fmt.Errorf("%d copies: want 0 or more", r.Copies))
	}
	if r.Limit != 0 && !(r.Limit >= 1) {
		faults = append(faults, fmt.Errorf("a limit of %v: want a slowdown of 1 or more", float64(r.Limit)))
	}
	return errors.Join(faults...)
}

// Request returns what a job in the queue asks for.
func (s *Site) Request(j *Job) Request {
	r := Request{
		Job: j, Nodes: max(1, j.NodeCount), CPUsPerNode: j.CPUsPerNode(), Copies: pendingTasks(j.PendingTasks),
		Partitions: j.Partitions, Features: j.Features, Exclusive: j.Exclusive, ExclusiveUser: j.ExclusiveUser,
		Oversubscribe: j.Oversubscribe, Required: j.Required, Excluded: j.Excluded, Limit: s.Limit(j),
		Memory: j.Memory, Gres: j.Gres, Reservation: j.Reservation, TimeLimit: j.TimeLimit, User: j.User,
	}
	if j.Pending() { // the CPUs of others are those of all threads
		r.ThreadsPerCore = j.ThreadsPerCore
	}
	r.Application, r.Source = s.application(j)
	return r
}

// SetResources sets Memory and Gres from options of sbatch, such as 4G and gpu:1.
func (r *Request) SetResources(memory, gres string) {
	r.Memory, r.Gres = memoryOf(memory), gresOf(gres)
}

// memoryOf reads --mem.
func memoryOf(text string) int {
	if amount := mebibytes(text); amount > 0 || strings.TrimRight(strings.TrimSpace(text), "KMGTkmgt") != "0" {
		return amount
	}
	return WholeMemory
}

// pendingTasks counts the tasks of an array expression such as "3-9:2,12%4", of
// which at most %4 run at a time; 1 for what cannot be read. Slurm cuts long
// ones off with "...".
func pendingTasks(expression string) int {
	tasks, atOnce, _ := strings.Cut(expression, "%")
	total := 0
	for part := range strings.SplitSeq(tasks, ",") {
		bounds, step, _ := strings.Cut(part, ":")
		low, high, isRange := strings.Cut(bounds, "-")
		first, last := whole(low), whole(high)
		switch {
		case !isRange:
			total++
		case last >= first:
			total += int(min((last-first)/max(1, whole(step))+1, mostCopies))
		}
		if total >= mostCopies {
			break
		}
	}
	if n := whole(atOnce); n > 0 {
		total = min(total, int(n))
	}
	return min(max(1, total), mostCopies)
}

// Eligible returns the nodes of Matching on which the job can start once there is
// room: not those that are down, drained or kept for others.
func (r *Request) Eligible(c *Cluster) []*Node {
	reserved := newReservations(c)
	return slices.DeleteFunc(r.Matching(c), func(n *Node) bool { return !reserved.admit(r, n) })
}

// longest returns how long the job may run on a node: its own limit, for a job in the queue
// without one the longest of the partitions there; false where nothing bounds it. Of a job
// that was not submitted, Slurm chooses the limit that it does not say: that counts as none,
// so that nodes on which it may start are not overlooked.
func (r *Request) longest(c *Cluster, n *Node) (limit time.Duration, bounded bool) {
	if r.TimeLimit > 0 || r.Job == nil {
		return r.TimeLimit, true
	}
	var longest time.Duration
	for _, name := range r.open(c) {
		p, known := c.Partition(name)
		if !known || !slices.Contains(n.Partitions, name) {
			continue
		}
		if p.TimeLimit == 0 {
			return 0, false
		}
		longest = max(longest, p.TimeLimit)
	}
	return longest, longest > 0
}

// Matching returns the nodes on which the job may ever run, in natural order: those
// of its partitions that have enough CPUs, memory and generic resources and the
// features that it asks for, and that the user neither excluded nor left out of the
// nodes required.
func (r *Request) Matching(c *Cluster) []*Node {
	partitions := r.open(c)
	features := r.Features
	if strings.ContainsAny(features, complexMarks) && !slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Offers(features) }) {
		features = "" // not understood
	}
	var nodes []*Node
	for i := range c.Nodes {
		n := &c.Nodes[i]
		inPartition := (partitions == nil && len(r.Partitions) == 0) ||
			slices.ContainsFunc(partitions, func(p string) bool { return slices.Contains(n.Partitions, p) })
		switch {
		case !inPartition, n.CPUs > 0 && r.CPUsOn(n) > float64(n.CPUs):
		case r.ThreadsPerCore > 1 && n.ThreadsPerCore > 0 && r.ThreadsPerCore > n.ThreadsPerCore:
		case n.Memory > 0 && r.Memory > n.Memory, !r.resources(n.Gres, nil):
		case !n.Offers(features), slices.Contains(r.Excluded, n.Name):
		case len(r.Required) >= r.Nodes && len(r.Required) > 0 && !slices.Contains(r.Required, n.Name):
		default:
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// resources reports whether there are as many generic resources as the job asks for,
// beside those that are taken.
func (r *Request) resources(total, taken map[string]int) bool {
	for name, count := range r.Gres {
		if total[name]-taken[name] < count {
			return false
		}
	}
	return true
}

// open returns the partitions that admit the job; all where none does, because then
// it waits for an operator, wherever it may run.
func (r *Request) open(c *Cluster) []string {
	all := r.partitions(c)
	admitting := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		p, known := c.Partition(name)
		return known && !p.Admits(r.Nodes, r.CPUsPerNode, r.TimeLimit)
	})
	if len(admitting) == 0 {
		return all
	}
	return admitting
}

// admitted reports whether some partition of the job admits it, as far as they are known.
func (r *Request) admitted(c *Cluster) bool {
	all := r.partitions(c)
	return len(all) == 0 || slices.ContainsFunc(all, func(name string) bool {
		p, known := c.Partition(name)
		return !known || p.Admits(r.Nodes, r.CPUsPerNode, r.TimeLimit)
	})
}

// memory returns what the job takes of a node's memory, in MiB; 0 where jobs take
// none.
func (r *Request) memory(c *Cluster, n *Node) int {
	switch {
	case !c.Consumable.Memory:
		return 0
	case r.Memory == WholeMemory:
		return n.Memory
	case r.Memory > 0:
		return r.Memory
	}
	switch perCPU, perNode := r.defaultMemory(c, n); {
	case perCPU > 0:
		return int(math.Ceil(float64(perCPU) * r.CPUsPerNode))
	case perNode > 0:
		return perNode
	default:
		return n.Memory
	}
}

// defaultMemory returns what Slurm gives a job of memory that asks for none: for each CPU
// or for each node, in MiB; 0 for the whole node. The first of its partitions there that
// says it goes before the cluster.
func (r *Request) defaultMemory(c *Cluster, n *Node) (perCPU, perNode int) {
	says := func(p Partition) bool { return p.MemoryPerCPU > 0 || p.MemoryPerNode > 0 }
	if slices.ContainsFunc(c.Partitions, says) {
		for _, name := range r.open(c) {
			if p, _ := c.Partition(name); says(p) && slices.Contains(n.Partitions, name) {
				return p.MemoryPerCPU, p.MemoryPerNode
			}
		}
	}
	return c.Consumable.MemoryPerCPU, c.Consumable.MemoryPerNode
}

// partitions returns where the job may run; none where the cluster does not say
// which partition is the default one.
func (r *Request) partitions(c *Cluster) []string {
	if len(r.Partitions) > 0 {
		return r.Partitions
	}
	if p := c.DefaultPartition(); p != "" {
		return []string{p}
	}
	return nil
}

// Offers reports whether the node has the features of a constraint: "a&b" and "a|b",
// where & binds closer. Of what says more, as "[a*2]" and "(a|b)&c", one feature is
// enough: Slurm decides.
func (n *Node) Offers(constraint string) bool {
	if constraint == "" {
		return true
	}
	has := func(feature string) bool { return slices.Contains(n.Features, feature) }
	if strings.ContainsAny(constraint, complexMarks) {
		words := strings.FieldsFunc(constraint, func(r rune) bool { return strings.ContainsRune(complexMarks+"&|", r) })
		return slices.ContainsFunc(words, has)
	}
	for alternative := range strings.SplitSeq(constraint, "|") {
		if !slices.ContainsFunc(strings.Split(alternative, "&"), func(feature string) bool { return !has(feature) }) {
			return true
		}
	}
	return false
}

// complexMarks are in constraints that Bandmate does not read whole.
const complexMarks = "[](){}*:,"
