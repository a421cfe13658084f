// Package pair divides the waiting jobs of a Slurm queue that share whole nodes
// into pairs that slow each other down least, and gives every pair its nodes.
//
// It is for partitions in which two jobs run on the same CPUs or side by side on
// one node (OverSubscribe=FORCE:2, or jobs of half a node each). Planning is
// pure; Commands says what scontrol has to be told.
package pair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/pairing"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/units"
)

// Most is how many jobs of one kind are paired; the rest of the queue waits for
// the next time. The best pairing of n jobs takes a time that grows as n³.
const Most = 1000

// Planner pairs jobs.
type Planner struct {
	Site    *slurm.Site
	Advisor *advisor.Advisor
	// Partition restricts the plan to the jobs of one partition; empty means all.
	Partition string
	// Limit is the slowdown that as few pairs as possible exceed; 0 for none.
	Limit units.Slowdown
}

// Plan is who shares nodes with whom.
type Plan struct {
	Pairs []Pair `json:"pairs"`
	// Alone are jobs without a partner: one of an odd number of a kind.
	Alone []Job `json:"alone"`
	// LeftOut are waiting jobs that are not paired, and why.
	LeftOut []Excuse `json:"leftOut"`
	// TotalSlowdown is the sum over all paired jobs and those alone, who count
	// 1; Greedy and Random are what taking the best pair first, and pairing at
	// random on average, would give.
	TotalSlowdown float64 `json:"totalSlowdown"`
	Greedy        float64 `json:"greedyTotalSlowdown"`
	Random        float64 `json:"randomTotalSlowdown"`
	// OverLimit counts the pairs that exceed the limit.
	OverLimit int `json:"overLimit"`
}

// Job is a waiting job.
type Job struct {
	ID          string `json:"job"`
	Application string `json:"application"`
	// Slowdown is predicted beside the partner; 0 for a job alone.
	Slowdown units.Slowdown `json:"slowdown,omitempty"`
}

// Pair is two jobs that share nodes.
type Pair struct {
	Jobs [2]Job `json:"jobs"`
	// Nodes are empty nodes for the two; none while there are none.
	Nodes []string `json:"nodes,omitempty"`
}

// Excuse is why a job is left out.
type Excuse struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
}

// Commands are the arguments of scontrol that send the pair to its nodes; none
// while it has no nodes.
func (p Pair) Commands() [][]string {
	if len(p.Nodes) == 0 {
		return nil
	}
	nodes := "ReqNodeList=" + hostlist.Compress(p.Nodes)
	return [][]string{
		{"update", "JobId=" + p.Jobs[0].ID, nodes},
		{"update", "JobId=" + p.Jobs[1].ID, nodes},
	}
}

// kind is what two jobs must have in common to share nodes: also the machine for which they
// are predicted and, where users share no nodes, the user.
type kind struct {
	partitions, features, reservation, machine, user string
	nodes                                            int
}

// candidate is a job that may be paired.
type candidate struct {
	job         *slurm.Job
	request     slurm.Request
	application *predictor.Application
	machine     string
}

// Plan pairs the waiting jobs of a cluster, kind by kind: the same partitions,
// features, machine and number of nodes. Nodes are given out in the order in which the
// jobs came, and only empty ones. Where jobs may run on several machines, they are paired
// for the first that has an empty node for them.
func (p Planner) Plan(ctx context.Context, c *slurm.Cluster) (*Plan, error) {
	if p.Limit != 0 && !(p.Limit >= 1) {
		return nil, fmt.Errorf("limit %v: want a slowdown of 1 or more", float64(p.Limit))
	}
	plan := &Plan{Pairs: []Pair{}, Alone: []Job{}, LeftOut: []Excuse{}}
	room := slurm.NewRoom(c)
	empty := emptyNodes(c, room)
	kinds, order := p.candidates(c, plan, empty)
	for _, k := range order {
		if err := p.pair(ctx, c, plan, kinds[k], room, empty); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// candidates sorts the queue by kind.
func (p Planner) candidates(c *slurm.Cluster, plan *Plan, empty map[string]bool) (kinds map[kind][]candidate, order []kind) {
	kinds = make(map[kind][]candidate)
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Pending() || (p.Partition != "" && !slices.Contains(j.Partitions, p.Partition)) {
			continue
		}
		candidate := candidate{job: j, request: p.Site.Request(j)}
		reason := p.excuse(c, &candidate, empty)
		k := kind{
			partitions: strings.Join(j.Partitions, ","), features: j.Features, reservation: j.Reservation,
			machine: candidate.machine, nodes: candidate.request.Nodes,
		}
		if j.ExclusiveUser || inPartition(c, j, func(p slurm.Partition) bool { return p.ExclusiveUser }) {
			k.user = j.User
		}
		if reason == "" && len(kinds[k]) == Most {
			reason = fmt.Sprintf("%d jobs like it come first", Most)
		}
		if reason != "" {
			plan.LeftOut = append(plan.LeftOut, Excuse{j.String(), reason})
			continue
		}
		if len(kinds[k]) == 0 {
			order = append(order, k)
		}
		kinds[k] = append(kinds[k], candidate)
	}
	for _, of := range kinds {
		slices.SortStableFunc(of, func(a, b candidate) int {
			return cmp.Or(a.job.Submitted.Compare(b.job.Submitted), cmp.Compare(a.job.ID, b.job.ID))
		})
	}
	return kinds, order
}

// inPartition reports whether something holds of a partition in which the job may run.
func inPartition(c *slurm.Cluster, j *slurm.Job, holds func(slurm.Partition) bool) bool {
	return slices.ContainsFunc(j.Partitions, func(name string) bool {
		p, ok := c.Partition(name)
		return ok && holds(p)
	})
}

// excuse says why a waiting job cannot be paired; empty when it can, and then
// its application and machine are known.
func (p Planner) excuse(c *slurm.Cluster, candidate *candidate, empty map[string]bool) string {
	j, q := candidate.job, &candidate.request
	switch {
	case j.Held():
		return "held"
	case j.Dependent():
		return "waits for other jobs"
	case j.ArrayID != 0 && j.Task == nil:
		return "several tasks of an array in one record: they cannot be paired one by one"
	case j.HetID != 0:
		return "a component of a heterogeneous job starts with the others"
	case len(q.Required) > 0:
		return "the user chose the nodes"
	case q.Exclusive:
		return "exclusive"
	case inPartition(c, j, slurm.Partition.WholeNodes) && !inPartition(c, j, func(p slurm.Partition) bool { return !p.WholeNodes() }):
		return "in its partition no jobs share nodes"
	case q.Application == "":
		return "no application is named"
	}
	nodes := q.Eligible(c)
	if len(nodes) < q.Nodes {
		return "too few nodes are up"
	}
	reason := ""
	for _, machine := range p.machines(nodes, empty, q.Nodes) {
		entry := p.Advisor.Lookup(q.Application, machine)
		if a := entry.Application; a != nil {
			if sensitive, contentious := a.Known(); sensitive && contentious {
				candidate.application, candidate.machine = a, machine
				return ""
			}
		}
		reason = cmp.Or(reason, entry.Reason)
	}
	return reason
}

// machines returns the machines of nodes: first those with the most empty nodes, of which more
// than are wanted do not count.
func (p Planner) machines(nodes []*slurm.Node, empty map[string]bool, wanted int) []string {
	var machines []string
	free := make(map[string]int)
	for _, n := range nodes {
		machine := p.Site.Machine(n)
		if !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
		if empty[n.Name] {
			free[machine] = min(free[machine]+1, wanted)
		}
	}
	slices.SortStableFunc(machines, func(a, b string) int { return cmp.Compare(free[b], free[a]) })
	return machines
}

// pair adds the best pairs of one kind to the plan.
func (p Planner) pair(ctx context.Context, c *slurm.Cluster, plan *Plan, of []candidate, room *slurm.Room, empty map[string]bool) error {
	slowdowns := mutual(of)
	problem := pairing.Problem{
		Jobs: len(of), Limit: p.Limit,
		Slowdowns: func(i, j int) (ofI, ofJ units.Slowdown) { return slowdowns[i][j], slowdowns[j][i] },
	}
	best, err := pairing.Optimal(ctx, problem)
	if err != nil {
		return fmt.Errorf("pairing %d jobs: %w", len(of), err)
	}
	greedy, first := pairing.Greedy(problem)
	random, second := pairing.AverageRandom(problem)
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("pairing %d jobs: %w", len(of), err)
	}
	plan.TotalSlowdown += best.Total
	plan.Greedy += greedy.Total
	plan.Random += random
	plan.OverLimit += best.OverLimit
	for i, j := range best.Partner {
		switch {
		case j == pairing.Alone:
			plan.Alone = append(plan.Alone, of[i].named(0))
		case i < j:
			plan.Pairs = append(plan.Pairs, Pair{
				Jobs:  [2]Job{of[i].named(slowdowns[i][j]), of[j].named(slowdowns[j][i])},
				Nodes: p.take(c, room, empty, of[i], of[j]),
			})
		}
	}
	return nil
}

func (c candidate) named(s units.Slowdown) Job {
	return Job{ID: c.job.String(), Application: c.request.Application, Slowdown: s}
}

// mutual returns the slowdown of each job beside each other one, [i][j] that of
// i beside j. Jobs of the same application are predicted once.
func mutual(of []candidate) [][]units.Slowdown {
	type couple [2]*predictor.Application
	known := make(map[couple]units.Slowdown)
	var workspace predictor.Workspace
	slowdowns := make([][]units.Slowdown, len(of))
	for i := range of {
		slowdowns[i] = make([]units.Slowdown, len(of))
		for j := range of {
			if i == j {
				continue
			}
			both := couple{of[i].application, of[j].application}
			if _, ok := known[both]; !ok {
				known[both] = workspace.Performances(nil, both[:])[0].Slowdown()
			}
			slowdowns[i][j] = known[both]
		}
	}
	return slowdowns
}

// emptyNodes are the nodes on which nobody is, and for which no job waits that names them, as
// one of a pair that was sent there earlier. Whether a job may start there is another question.
func emptyNodes(c *slurm.Cluster, room *slurm.Room) map[string]bool {
	empty := make(map[string]bool)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		empty[n.Name] = n.CPUs > 0 && room.Free(n) >= float64(n.CPUs)
	}
	for i := range c.Jobs {
		if j := &c.Jobs[i]; j.Pending() && !j.Held() {
			for _, name := range j.Required {
				empty[name] = false
			}
		}
	}
	return empty
}

// take gives a pair empty nodes of its machine on which both can run; none when there are too
// few.
func (p Planner) take(c *slurm.Cluster, room *slurm.Room, empty map[string]bool, a, b candidate) []string {
	forB := b.request.Eligible(c)
	var nodes []string
	for _, n := range a.request.Eligible(c) {
		if empty[n.Name] && len(nodes) < a.request.Nodes && p.Site.Machine(n) == a.machine &&
			slices.Contains(forB, n) && hold(room, n, a, b) && shares(c, room, n, a, b) {
			nodes = append(nodes, n.Name)
		}
	}
	if len(nodes) < a.request.Nodes {
		return nil
	}
	for _, name := range nodes {
		empty[name] = false
	}
	return nodes
}

// hold reports whether the node has the memory and the generic resources of both.
func hold(room *slurm.Room, n *slurm.Node, a, b candidate) bool {
	room.Take(&a.request, n)
	defer room.Leave(&a.request, n)
	return room.Holds(&b.request, n)
}

// shares reports whether both jobs have CPUs on the node at the same time, without having
// asked for it. Where Slurm does not tell how a partition shares its CPUs, they are taken to.
func shares(c *slurm.Cluster, room *slurm.Room, n *slurm.Node, a, b candidate) bool {
	both := a.request.CPUsPerNode + b.request.CPUsPerNode
	besides := both <= min(room.FreeFor(&a.request, n), room.FreeFor(&b.request, n))
	if len(a.job.Partitions) == 0 {
		return besides
	}
	return inPartition(c, a.job, func(p slurm.Partition) bool {
		switch {
		case !slices.Contains(n.Partitions, p.Name), p.WholeNodes():
			return false
		case p.MostCPUsPerNode > 0 && both > float64(p.MostCPUsPerNode):
			return false
		}
		return besides || p.OverSubscribe == "" || p.Forced() && p.Shares() > 1
	})
}
