package slurm

import (
	"slices"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// exclude decides which nodes to exclude:
//
//   - nodes on which a limit would be exceeded, with room or without, and those on which
//     that is not known, where it is known on others;
//   - when the job has its nodes now, those with room that are worse. Of an array of
//     which not all tasks were placed, none: the rest needs nodes as well. The same holds
//     of nodes with room for some tasks.
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
	for _, c := range chosen {
		if !slices.Contains(a.Chosen, c.Node) {
			a.Chosen = append(a.Chosen, c.Node)
		}
	}
	reference := a.reference(chosen)
	judged := a.judged()
	for i := range a.Candidates {
		if a.Candidates[i].keeps(judged) {
			a.within++
		}
	}
	a.LimitExceeded = a.within < min(r.Nodes, len(a.Candidates))
	open := 0
	for i := range a.Candidates {
		c := &a.Candidates[i]
		switch {
		case slices.Contains(a.Chosen, c.Node), slices.Contains(r.Required, c.Node):
			// It goes there.
		case !c.keeps(judged) && (!a.LimitExceeded || open >= r.Nodes):
			c.Excluded = true
		case c.OverLimit == 0 && c.Fits && reference != nil && r.Copies < mostCopies && worse(c.Score, *reference, o.Tolerance, r.CPUsPerNode):
			c.Excluded = true
		}
		if c.Excluded {
			a.Exclude = append(a.Exclude, c.Node)
		} else {
			open++
		}
	}
	a.excludePartly(r, chosen, o)
	slices.SortFunc(a.Exclude, hostlist.Compare)
	a.Exclude = slices.Compact(a.Exclude)
}

// excludeReturning excludes the nodes on which the job cannot start at present, and where a
// limit would be exceeded or, where it is known of others, that is not known: they may return
// before the job starts.
func (a *Advice) excludeReturning(r *Request, returning []Candidate) {
	judged := a.judged()
	for i := range returning {
		if c := &returning[i]; !c.keeps(judged) && !slices.Contains(r.Required, c.Node) {
			a.Exclude = append(a.Exclude, c.Node)
		}
	}
	slices.SortFunc(a.Exclude, hostlist.Compare)
}

// reference returns the score that other nodes are compared with: the worst of the chosen
// nodes of which it is known; where it is known of none of them, that of the best others
// with room, as many as the job needs. It is nil without any: the costs of what is not
// known count too little.
func (a *Advice) reference(chosen []Candidate) *score.Score {
	var worst *score.Score
	count := func(c *Candidate) {
		if worst == nil || score.Compare(c.Score, *worst) > 0 {
			worst = &c.Score
		}
	}
	for i := range chosen {
		if chosen[i].IsKnown() {
			count(&chosen[i])
		}
	}
	if worst != nil || len(chosen) == 0 {
		return worst
	}
	others := 0
	for _, c := range a.Fitting() {
		if c.IsKnown() && c.OverLimit == 0 && others < a.Nodes {
			others++
			count(c)
		}
	}
	return worst
}

// enough returns how many nodes the job should have: all that it asks for, unless a limit
// would be exceeded on some of them, or too few were found to choose any.
func (a *Advice) enough() int {
	switch {
	case a.LimitExceeded:
		return min(a.within, a.Nodes-1)
	case len(a.Chosen) == 0 && a.placed > 0:
		return a.placed
	}
	return a.Nodes
}

// judged reports whether there is a limit, and it is known of some node whether it is kept.
func (a *Advice) judged() bool { return a.Limit != 0 && anyKnown(a.Candidates) }

func anyKnown(candidates []Candidate) bool {
	return slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Score.Newcomer.Known })
}

// IsKnown reports whether it is known what the job would suffer on the node: its profile is,
// or nobody is there and no other tasks of its array come.
func (c *Candidate) IsKnown() bool { return c.Score.Newcomer.Known || c.alone }

// keeps reports whether no limit is exceeded on the node; where nodes are judged, that has
// to be known.
func (c *Candidate) keeps(judged bool) bool {
	return c.OverLimit == 0 && (!judged || c.IsKnown())
}

// ExcludeList returns Exclude as a host list; empty when nothing is excluded.
func (a *Advice) ExcludeList() string { return hostlist.Compress(a.Exclude) }

// DemandedList returns what is left of Exclude when only the user and limits exclude
// nodes, as a host list.
func (a *Advice) DemandedList() string {
	judged := a.judged()
	all := slices.Concat(a.Candidates, a.partly)
	kept := slices.DeleteFunc(slices.Clone(a.Exclude), func(name string) bool {
		return slices.ContainsFunc(all, func(c Candidate) bool { return c.Node == name && c.Excluded && c.keeps(judged) })
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
