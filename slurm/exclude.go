package slurm

import (
	"slices"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// exclude decides which nodes to exclude:
//
//   - nodes on which a limit would be exceeded, with room or without;
//   - when the job has its nodes now, those with room that are worse. Of an array of
//     which not all tasks were placed, none: the rest needs nodes as well.
//
// Other nodes without room stay open: who will be there when they have room is
// not known. When the limit is exceeded nearly everywhere, the best nodes stay
// open all the same, as many as the job needs: a job that excludes every node
// never starts.
func (a *Advice) exclude(r *Request, chosen []Candidate, o *Options) {
	a.Chosen, a.Exclude = []string{}, slices.Clone(r.Excluded)
	if a.Exclude == nil {
		a.Exclude = []string{}
	}
	worst := -1
	for i, c := range chosen {
		if !slices.Contains(a.Chosen, c.Node) {
			a.Chosen = append(a.Chosen, c.Node)
		}
		if worst < 0 || score.Compare(c.Score, chosen[worst].Score) > 0 {
			worst = i
		}
	}
	within := 0
	for i := range a.Candidates {
		if a.Candidates[i].OverLimit == 0 {
			within++
		}
	}
	a.LimitExceeded = within < min(r.Nodes, len(a.Candidates))
	open := 0
	for i := range a.Candidates {
		c := &a.Candidates[i]
		switch {
		case slices.Contains(a.Chosen, c.Node), slices.Contains(r.Required, c.Node):
			// It goes there.
		case c.OverLimit > 0 && (!a.LimitExceeded || open >= r.Nodes):
			c.Excluded = true
		case c.OverLimit == 0 && c.Fits && worst >= 0 && r.Copies < mostCopies && worse(c.Score, chosen[worst].Score, o.Tolerance, r.CPUsPerNode):
			c.Excluded = true
		}
		if c.Excluded {
			a.Exclude = append(a.Exclude, c.Node)
		} else {
			open++
		}
	}
	slices.SortFunc(a.Exclude, hostlist.Compare)
	a.Exclude = slices.Compact(a.Exclude)
}

// ExcludeList returns Exclude as a host list; empty when nothing is excluded.
func (a *Advice) ExcludeList() string { return hostlist.Compress(a.Exclude) }

// DemandedList returns what is left of Exclude when only the user and limits exclude
// nodes, as a host list.
func (a *Advice) DemandedList() string {
	kept := slices.DeleteFunc(slices.Clone(a.Exclude), func(name string) bool {
		return slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return c.Node == name && c.Excluded && c.OverLimit == 0 })
	})
	return hostlist.Compress(kept)
}

// Fitting returns the candidates on which the job can start now.
func (a *Advice) Fitting() []*Candidate {
	var fitting []*Candidate
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Fits {
			fitting = append(fitting, c)
		}
	}
	return fitting
}

// worse reports whether a placement is worse than another by more than the
// tolerance, for a job with that many CPUs on the node.
func worse(a, b score.Score, tolerance, cpus float64) bool {
	if a.OverLimit != b.OverLimit || a.Avoided != b.Avoided {
		return score.Compare(a, b) > 0
	}
	if a.Objective == score.WorstSlowdown {
		cpus = 1
	}
	const rounding = 1e-9
	return a.Cost > b.Cost+(tolerance+rounding)*cpus
}

// hiddenCPUs returns the nodes on which more CPUs are allocated than the jobs
// that can be seen have.
func hiddenCPUs(c *Cluster) []string {
	seen := map[string]float64{}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		for _, name := range j.Nodes {
			n := c.Node(name)
			switch {
			case n == nil:
			case j.Exclusive, len(j.Nodes) > 1 && j.coresOn(n) == nil: // may have all of it
				seen[name] += float64(n.CPUs)
			default:
				seen[name] += j.CPUsOn(n)
			}
		}
	}
	var hidden []string
	for i := range c.Nodes {
		// Half a CPU is rounding: of a job with an odd share of every node.
		if n := &c.Nodes[i]; float64(n.AllocatedCPUs) > seen[n.Name]+0.5 {
			hidden = append(hidden, n.Name)
		}
	}
	return hidden
}
