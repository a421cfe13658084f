package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	// Copies is how many such jobs are to be placed, as of an array; 0 counts
	// as 1.
	Copies int
	// Partitions are those it may run in; none means the default one.
	Partitions []string
	// Features is its constraint on nodes.
	Features string
	// Exclusive jobs share no node.
	Exclusive bool
	// Required and Excluded are the user's own choice of nodes.
	Required, Excluded []string
	// Limit is the slowdown it may suffer; 0 means Options.Limit.
	Limit units.Slowdown
}

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
		Partitions: j.Partitions, Features: j.Features, Exclusive: j.Exclusive,
		Required: j.Required, Excluded: j.Excluded, Limit: s.Limit(j),
	}
	r.Application, r.Source = s.application(j)
	return r
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

// Eligible returns the nodes of Matching that are not down or drained.
func (r *Request) Eligible(c *Cluster) []*Node {
	return slices.DeleteFunc(r.Matching(c), func(n *Node) bool { return !n.Available() })
}

// Matching returns the nodes on which the job may ever run, in natural order: those
// of its partitions that have enough CPUs and the features that it asks for, and that
// the user neither excluded nor left out of the nodes required.
func (r *Request) Matching(c *Cluster) []*Node {
	partitions := r.partitions(c)
	var nodes []*Node
	for i := range c.Nodes {
		n := &c.Nodes[i]
		inPartition := len(partitions) == 0 ||
			slices.ContainsFunc(partitions, func(p string) bool { return slices.Contains(n.Partitions, p) })
		switch {
		case !inPartition, n.CPUs > 0 && r.CPUsPerNode > float64(n.CPUs):
		case !n.Offers(r.Features), slices.Contains(r.Excluded, n.Name):
		case len(r.Required) >= r.Nodes && len(r.Required) > 0 && !slices.Contains(r.Required, n.Name):
		default:
			nodes = append(nodes, n)
		}
	}
	return nodes
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

// Offers reports whether the node has the features of a constraint. Of the
// language of --constraint only "a&b" is read; what says more, as "a|b", "[a*2]"
// and "(a|b)&c", is answered yes: Slurm decides.
func (n *Node) Offers(constraint string) bool {
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

// Room is how many CPUs of every node are taken. Slurm counts shared CPUs per
// partition, so they are counted by the jobs that can be seen, and by what Slurm
// says is allocated where that is more.
type Room struct {
	cluster *Cluster
	taken   map[string]float64
}

// NewRoom returns the room in a cluster as it is.
func NewRoom(c *Cluster) *Room {
	r := &Room{cluster: c, taken: make(map[string]float64, len(c.Nodes))}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Occupies() && j.State != Suspended {
			continue
		}
		for _, name := range j.Nodes {
			n := c.Node(name)
			if n == nil {
				continue
			}
			cpus := j.CPUsOn(n)
			if j.Exclusive {
				cpus = max(cpus, float64(n.CPUs))
			}
			r.taken[name] += cpus
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		r.taken[n.Name] = max(r.taken[n.Name], float64(n.AllocatedCPUs))
	}
	return r
}

// Free returns how many CPUs of the node nobody has, never below 0.
func (r *Room) Free(n *Node) float64 { return max(0, float64(n.CPUs)-r.taken[n.Name]) }

// Take books CPUs of a node.
func (r *Room) Take(n *Node, cpus float64) { r.taken[n.Name] += cpus }

// Fits reports whether the node has room for the job now.
func (r *Room) Fits(q *Request, n *Node) bool {
	taken := r.taken[n.Name]
	if q.Exclusive {
		return taken == 0
	}
	shares := 1
	for _, name := range q.partitions(r.cluster) {
		p, known := r.cluster.Partition(name)
		if !known || !slices.Contains(n.Partitions, name) {
			continue
		}
		if p.OverSubscribe == "EXCLUSIVE" {
			return taken == 0
		}
		// Only FORCE shares without being asked; who asks by --oversubscribe may
		// start earlier than said here.
		if p.Forced() {
			shares = max(shares, p.Shares())
		}
	}
	return taken+q.CPUsPerNode <= float64(n.CPUs*shares)
}
