package slurm

import (
	"math"
	"slices"
)

// task returns the least part of the job that Slurm places on a node; false where every node
// gets an equal part.
func (r *Request) task() (Request, bool) {
	if r.CPUsPerTask == 0 || r.CPUsPerTask >= r.CPUsPerNode || r.Exclusive {
		return *r, false
	}
	one := *r
	if r.Memory > 0 {
		one.Memory = int(float64(r.Memory) * r.CPUsPerTask / r.CPUsPerNode)
	}
	one.CPUsPerNode, one.CPUsPerTask = r.CPUsPerTask, 0
	return one, true
}

// findPartly scores the nodes that have room for some tasks of the job, but not for an equal
// part. Slurm may place tasks there, also where other nodes have room for more.
func (t *ranking) findPartly(c *Cluster) ([]Candidate, error) {
	one, splits := t.request.task()
	if !splits {
		return nil, nil
	}
	var partly []Candidate
	equalPart, some := t.room.Fitting(t.request), t.room.Fitting(&one)
	for _, n := range one.Matching(c) {
		if equalPart(n) || !some(n) {
			continue
		}
		candidate, err := t.candidate(n)
		if err != nil {
			return nil, err
		}
		partly = append(partly, candidate)
	}
	return partly, nil
}

// excludePartly excludes nodes with room for some tasks where a limit would be exceeded, and,
// when the job has other nodes now, those that are worse.
func (a *Advice) excludePartly(r *Request, chosen []Candidate, o *Options) {
	reference, judged := a.reference(chosen), a.judged()
	for i := range a.partly {
		c := &a.partly[i]
		switch {
		case slices.Contains(r.Required, c.Node) || a.LimitExceeded:
		case !c.keeps(judged), reference != nil && r.Copies < mostCopies && worse(c.Score, *reference, o.Tolerance, r.CPUsPerNode):
			c.Excluded = true
			a.Exclude = append(a.Exclude, c.Node)
			if at := slices.IndexFunc(a.Candidates, func(other Candidate) bool { return other.Node == c.Node }); at >= 0 {
				a.Candidates[at].Excluded = true
			}
		}
	}
}

// Partly returns the nodes that have room now for some tasks of the job, but not for an equal
// part of them.
func (a *Advice) Partly() []*Candidate {
	var partly []*Candidate
	for i := range a.partly {
		partly = append(partly, &a.partly[i])
	}
	return partly
}

// Spread reports whether these nodes together have the CPUs for all tasks of the job, which
// Slurm then starts on them in unequal parts.
func (a *Advice) Spread(nodes []*Candidate) bool {
	if a.cpusPerTask == 0 || len(nodes) < a.Nodes {
		return false
	}
	cpus := 0.0
	for _, c := range nodes {
		cpus += math.Floor(c.FreeCPUs/a.cpusPerTask) * a.cpusPerTask
	}
	return cpus >= float64(a.Nodes)*a.CPUsPerNode
}
