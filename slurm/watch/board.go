package watch

import (
	"cmp"
	"encoding/binary"
	"slices"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/units"
)

// board is who would be where: the residents of every memory domain, those that
// run and those that are expected, and what a newcomer would cost there.
type board struct {
	site    *slurm.Site
	roster  *advisor.Advisor
	scorer  *score.Scorer
	limit   units.Slowdown
	domains []domain
	byNode  map[string]int

	// Equal newcomers in equal company have equal costs; there are few kinds of
	// either, so that most questions have been answered before.
	classes map[class]int
	answers map[question]verdict
	lookups map[lookup]*predictor.Application
	labels  map[*slurm.Job]label
}

// label is what a job says of itself.
type label struct {
	application string
	limit       units.Slowdown
}

type lookup struct{ application, machine string }

// class is what matters of a job for a score.
type class struct {
	application *predictor.Application
	cpus        float64
	limit       units.Slowdown
	// card is where a job communicates, in a domain of several nodes.
	card string
}

type question struct {
	newcomer int
	company  string
}

// verdict is what a placement would do.
type verdict struct {
	cost float64
	// newcomer is the slowdown of the newcomer, worst the highest of a resident
	// after the placement; 1 without residents.
	newcomer, worst units.Slowdown
	overLimit       int
	avoided         bool
}

// good reports whether nothing speaks against a placement.
func (v verdict) good() bool { return v.overLimit == 0 && !v.avoided }

type domain struct {
	name      string
	residents []score.Job
	// classes are those of the residents, sorted; company is them as a key.
	classes []int
	company string
	// load is the domain prepared for newcomers; nil after a change.
	load *score.Load
}

func newBoard(c *slurm.Cluster, site *slurm.Site, known *advisor.Advisor, scorer *score.Scorer, limit units.Slowdown) *board {
	b := &board{
		site: site, roster: known, scorer: scorer, limit: limit,
		byNode: make(map[string]int), classes: make(map[class]int), answers: make(map[question]verdict),
		lookups: make(map[lookup]*predictor.Application), labels: make(map[*slurm.Job]label),
	}
	indices := make(map[string]int)
	for i := range c.Nodes {
		name := site.Domain(&c.Nodes[i])
		index, ok := indices[name]
		if !ok {
			index = len(b.domains)
			indices[name] = index
			b.domains = append(b.domains, domain{name: name})
		}
		b.byNode[c.Nodes[i].Name] = index
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Occupies() {
			continue
		}
		for _, name := range j.Nodes {
			if n := c.Node(name); n != nil {
				b.add(n.Name, b.job(j, n, j.CPUsOn(n)))
			}
		}
	}
	return b
}

// job returns what the score needs to know of a job on a node.
func (b *board) job(j *slurm.Job, n *slurm.Node, cpus float64) score.Job {
	result := score.Job{Name: j.String(), CPUs: cpus}
	result.Application = b.application(j, n)
	if result.Application != nil {
		result.Limit = cmp.Or(b.labelOf(j).limit, b.limit)
		if result.Application.Communication() != nil && b.site.Domain(n) != n.Name {
			result.Card = n.Name
		}
	}
	return result
}

// application returns what there is to predict a job on a node with; nil if
// nothing is known of it there.
func (b *board) application(j *slurm.Job, n *slurm.Node) *predictor.Application {
	key := lookup{b.labelOf(j).application, b.site.Machine(n)}
	if key.application == "" {
		return nil
	}
	found, ok := b.lookups[key]
	if !ok {
		found = b.roster.Lookup(key.application, key.machine).Application
		b.lookups[key] = found
	}
	return found
}

// labelOf returns what a job says of itself.
func (b *board) labelOf(j *slurm.Job) label {
	l, ok := b.labels[j]
	if !ok {
		l = label{b.site.Application(j), b.site.Limit(j)}
		b.labels[j] = l
	}
	return l
}

// place counts a waiting job as a resident of a node.
func (b *board) place(j *slurm.Job, n *slurm.Node) {
	b.add(n.Name, b.job(j, n, j.CPUsPerNode()))
}

func (b *board) add(node string, j score.Job) {
	d := &b.domains[b.byNode[node]]
	d.residents = append(d.residents, j)
	c := b.classOf(j)
	at, _ := slices.BinarySearch(d.classes, c)
	d.classes = slices.Insert(d.classes, at, c)
	key := make([]byte, 0, 2*len(d.classes))
	for _, c := range d.classes {
		key = binary.AppendUvarint(key, uint64(c)) //nolint:gosec // counted from 0
	}
	d.company, d.load = string(key), nil
}

func (b *board) classOf(j score.Job) int {
	c := class{j.Application, j.CPUs, j.Limit, j.Card}
	index, ok := b.classes[c]
	if !ok {
		index = len(b.classes)
		b.classes[c] = index
	}
	return index
}

// ask returns what placing a waiting job on a node would do.
func (b *board) ask(j *slurm.Job, n *slurm.Node) (verdict, error) {
	d := &b.domains[b.byNode[n.Name]]
	newcomer := b.job(j, n, j.CPUsPerNode())
	q := question{b.classOf(newcomer), d.company}
	if v, ok := b.answers[q]; ok {
		return v, nil
	}
	if d.load == nil {
		var err error
		if d.load, err = b.scorer.Prepare(score.Domain{Name: d.name, Residents: d.residents}); err != nil {
			return verdict{}, err
		}
	}
	s, err := b.scorer.ScoreLoad(newcomer, d.load)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{cost: s.Cost, newcomer: s.Newcomer.After, worst: 1, overLimit: s.OverLimit, avoided: s.Avoided}
	for _, e := range s.Residents {
		v.worst = max(v.worst, e.After)
	}
	b.answers[q] = v
	return v, nil
}
