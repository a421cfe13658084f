package watch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/units"
)

// ranking ranks nodes for waiting jobs, by the jobs that run there and those that were
// placed there.
type ranking struct {
	*slurm.Occupancy

	scorer  *score.Scorer
	domains map[*occupancy.Domain]*domainState
	verdicts
}

// domainState is what is remembered of a memory domain until a resident is added.
type domainState struct {
	kinds string      // of the residents, as a key
	load  *score.Load // nil until it is needed
}

// verdicts remembers what was asked before: newcomers of one kind have equal costs
// beside residents of equal kinds, and there are few kinds.
type verdicts struct {
	kinds   map[kind]int
	answers map[question]verdict
}

// kind holds the properties of a job that determine its score.
type kind struct {
	application *predictor.Application
	cpus        float64
	limit       units.Slowdown
	card        string // of a job that communicates, in a domain of several nodes
	caches      predictor.Caches
}

type question struct {
	newcomer  int
	residents string
}

// verdict is what placing a job on a node would do.
type verdict struct {
	cost float64
	// newcomer is the slowdown of the job, worst the highest of a resident after the
	// placement; 1 without residents.
	newcomer, worst units.Slowdown
	overLimit       int
	avoided         bool
	// known is false where newcomer and cost rest on the policy for unknown jobs.
	known bool
}

// good reports whether the placement keeps the limits and the policy.
func (v verdict) good() bool { return v.overLimit == 0 && !v.avoided }

// option is a node for a job.
type option struct {
	node *slurm.Node
	verdict
}

// better orders options: those that exceed no limit first, then by cost.
func better(a, b option) int {
	return cmp.Or(cmp.Compare(a.overLimit, b.overLimit), a.compareAvoided(b), cmp.Compare(a.cost, b.cost))
}

func (o option) compareAvoided(other option) int {
	switch {
	case o.avoided == other.avoided:
		return 0
	case other.avoided:
		return -1
	}
	return 1
}

// newRanking returns a ranking of a cluster. Rankings of one cluster and the same
// planner may share verdicts.
func (p Planner) newRanking(c *slurm.Cluster, scorer *score.Scorer, shared verdicts) *ranking {
	return &ranking{
		Occupancy: slurm.NewOccupancy(c, p.Site, p.Advisor, p.Limit, false, nil),
		scorer:    scorer, domains: map[*occupancy.Domain]*domainState{}, verdicts: shared,
	}
}

// place counts a waiting job as a resident of a node.
func (r *ranking) place(j *slurm.Job, n *slurm.Node) {
	part := r.Parts(n)[0]
	delete(r.domains, r.DomainOf(part))
	r.Place(r.newcomer(j, n, part), part, 0)
}

// newcomer returns a waiting job as a resident of a part of a node.
func (r *ranking) newcomer(j *slurm.Job, n *slurm.Node, part *occupancy.Node) occupancy.Resident {
	newcomer := r.Resident(j, n, j.CPUsPerNode())
	newcomer.Caches = r.Caches(part)
	return newcomer
}

// domain returns the state of a memory domain.
func (r *ranking) domain(d *occupancy.Domain) *domainState {
	s := r.domains[d]
	if s == nil {
		var kinds []int
		for _, n := range d.Nodes {
			for _, resident := range n.Residents {
				kinds = append(kinds, r.kindOf(kind{resident.Entry.Application, resident.CPUs, resident.Limit, resident.Node, resident.Caches}, d))
			}
		}
		slices.Sort(kinds)
		key := make([]byte, 0, 2*len(kinds))
		for _, k := range kinds {
			key = binary.AppendUvarint(key, uint64(k)) //nolint:gosec // counted from 0
		}
		s = &domainState{kinds: string(key)}
		r.domains[d] = s
	}
	return s
}

func (r *ranking) kindOf(k kind, d *occupancy.Domain) int {
	switch {
	case k.application == nil:
		k.limit, k.card, k.caches = 0, "", predictor.AnyCache
	case k.application.Communication() == nil || len(d.Nodes) == 1:
		k.card = ""
	}
	index, ok := r.kinds[k]
	if !ok {
		index = len(r.kinds)
		r.kinds[k] = index
	}
	return index
}

// ask returns what placing a waiting job on a node would do.
func (r *ranking) ask(j *slurm.Job, n *slurm.Node) (verdict, error) {
	part := r.Parts(n)[0]
	domain := r.DomainOf(part)
	state, label := r.domain(domain), r.Label(j)
	asked := kind{r.Entry(label.Application, n).Application, j.CPUsPerNode(), label.Limit, n.Name, r.Caches(part)}
	q := question{r.kindOf(asked, domain), state.kinds}
	if v, ok := r.answers[q]; ok {
		return v, nil
	}
	newcomer := r.newcomer(j, n, part)
	if state.load == nil {
		neighbors := domain.Neighbors(&newcomer, part, time.Time{}, 0)
		var err error
		if state.load, err = r.scorer.Prepare(neighbors.Domain()); err != nil {
			return verdict{}, err
		}
	}
	s, err := r.scorer.ScoreLoad(newcomer.Job(), state.load)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{cost: s.Cost, newcomer: s.Newcomer.After, worst: 1, overLimit: s.OverLimit, avoided: s.Avoided, known: s.Newcomer.Known}
	for _, e := range s.Residents {
		v.worst = max(v.worst, e.After)
	}
	r.answers[q] = v
	return v, nil
}

// options asks about every candidate of a job.
func (r *ranking) options(w *waiting) ([]option, error) {
	options := make([]option, len(w.nodes))
	for i, n := range w.nodes {
		v, err := r.ask(w.job, n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		options[i] = option{n, v}
	}
	return options, nil
}

// knows reports whether there is a profile of a job's application on a node.
func (r *ranking) knows(j *slurm.Job, n *slurm.Node) bool {
	return r.Entry(r.Label(j).Application, n).Application != nil
}

// offense says which job would exceed which limit if a waiting job came to a node.
func (r *ranking) offense(j *slurm.Job, n *slurm.Node) (string, error) {
	part := r.Parts(n)[0]
	newcomer := r.newcomer(j, n, part)
	neighbors := r.DomainOf(part).Neighbors(&newcomer, part, time.Time{}, 0)
	s, err := r.scorer.Score(newcomer.Job(), neighbors.Domain())
	if err != nil {
		return "", err
	}
	named := func(i int) string {
		r := neighbors.Residents[i]
		return slurm.Named(r.Name, r.Application)
	}
	if e := s.Newcomer; e.OverLimit() {
		who := slurm.By(len(neighbors.Residents), named)
		return fmt.Sprintf("on %s the job would be slowed down %s%s, above its limit of %s", n.Name, e.After, who, e.Limit), nil
	}
	for i, e := range s.Residents {
		if e.OverLimit() {
			return fmt.Sprintf("on %s it would slow down %s from %s to %s, above its limit of %s", n.Name, named(i), e.Before, e.After, e.Limit), nil
		}
	}
	return fmt.Sprintf("on %s a limit would be exceeded", n.Name), nil
}
