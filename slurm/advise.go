package slurm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// Options say how to advise. The zero value scores as package score does by
// default, sets no limit and takes a node as one memory domain.
type Options struct {
	Score score.Options
	// Limit is the slowdown that neither the job nor a resident may exceed, 1 or
	// more; 0 means any. A limit in a job's own comment goes before it.
	Limit units.Slowdown
	// Sockets makes every socket of a node a memory domain. A node is as good as the
	// worst of its sockets that have room, because Slurm chooses the socket.
	Sockets bool
	// Tolerance is how much worse a node may be and still stay open, in slowdown on
	// every CPU of the job: 0 or more.
	Tolerance float64
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	faults := []error{o.Score.Validate()}
	if o.Limit != 0 && !(o.Limit >= 1) {
		faults = append(faults, fmt.Errorf("a limit of %v: want a slowdown of 1 or more", float64(o.Limit)))
	}
	if !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 0) {
		faults = append(faults, fmt.Errorf("a tolerance of %v: want a finite number of 0 or more", o.Tolerance))
	}
	return errors.Join(faults...)
}

// Advisor advises where to place jobs. It changes nothing.
type Advisor struct {
	// Site may be nil: then it is the zero Site.
	Site    *Site
	Advisor *advisor.Advisor
	Options Options
}

func (a *Advisor) site() *Site {
	if a.Site == nil {
		return &Site{}
	}
	return a.Site
}

// ErrNoNode means that no node of the cluster can ever run the job.
var ErrNoNode = errors.New("no node can run the job: " + seeNodes)

const seeNodes = "see partition, constraint, CPUs, memory, reservations, excluded and drained nodes with sinfo -N -l"

// Advise ranks the nodes of the cluster for a job. A job that takes a range of nodes gets
// fewer where a limit would be exceeded otherwise, or where it cannot start otherwise. It
// fails with ErrNoNode, where too few nodes can run the job, and on invalid options or
// requests. Options.Score says how a job without a profile is ranked.
func (a *Advisor) Advise(c *Cluster, r Request) (*Advice, error) {
	if err := errors.Join(a.Options.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	scorer, err := score.New(a.Options.Score)
	if err != nil {
		return nil, err
	}
	advice, err := a.advise(c, r, scorer)
	for err == nil && r.Narrow(advice.enough()) {
		narrow, narrowErr := a.advise(c, r, scorer)
		if narrowErr != nil { // on fewer nodes, its parts may be too large
			break
		}
		advice = narrow
	}
	return advice, err
}

func (a *Advisor) advise(c *Cluster, r Request, scorer *score.Scorer) (*Advice, error) {
	var err error
	t := &ranking{
		advisor: a, request: &r, scorer: scorer, room: NewRoom(c), nodes: r.Eligible(c),
		occupancy: NewOccupancy(c, a.site(), a.Advisor, a.Options.Limit, a.Options.Sockets, r.Job),
	}
	if len(t.nodes) == 0 {
		return nil, ErrNoNode
	}
	if len(t.nodes) < r.Nodes {
		return nil, fmt.Errorf("the job needs %d nodes, and only %d can run it: %s", r.Nodes, len(t.nodes), seeNodes)
	}
	t.leave()
	if err := t.seatWaiting(c); err != nil {
		return nil, err
	}
	advice := &Advice{
		Application: r.Application, Source: r.Source, Nodes: r.Nodes, CPUsPerNode: r.CPUsPerNode,
		Limit: t.limit(), Warnings: []string{},
	}
	if r.Copies > 1 {
		advice.Copies = r.Copies
	}
	if one, splits := r.task(); splits {
		advice.cpusPerTask = one.CPUsPerNode
	}
	if r.Job != nil {
		advice.Job = r.Job.String()
	}
	if advice.Candidates, err = t.candidates(); err != nil {
		return nil, err
	}
	if advice.partly, err = t.findPartly(c); err != nil {
		return nil, err
	}
	returning, unscored := t.returning(c)
	chosen, short, err := t.choose(advice.Candidates)
	if err != nil {
		return nil, err
	}
	advice.placed = t.placed
	advice.exclude(&r, chosen, &a.Options)
	advice.excludeReturning(&r, returning)
	advice.LimitExceeded = advice.LimitExceeded || short
	advice.warn(c, a, &r)
	advice.warnLeftOut(unscored, t.unseated)
	advice.warnUntold(t.occupancy)
	return advice, nil
}

// ranking ranks the nodes of a cluster for one request.
type ranking struct {
	advisor   *Advisor
	request   *Request
	scorer    *score.Scorer
	occupancy *Occupancy
	room      *Room
	nodes     []*Node
	// bare is the room without jobs.
	bare *Room
	// placing is true while copies are placed one by one.
	placing bool
	// unseated counts the waiting jobs that may start before this one and do not count.
	unseated int
	// placed counts the nodes that were found for the job when they were too few.
	placed int
}

// leave takes a running job from its nodes.
func (t *ranking) leave() {
	j := t.request.Job
	if j == nil || !j.Occupies() {
		return
	}
	for _, n := range t.nodes {
		if slices.Contains(j.Nodes, n.Name) {
			t.room.Leave(t.request, n)
		}
	}
}

func (t *ranking) limit() units.Slowdown {
	if t.request.Limit != 0 {
		return t.request.Limit
	}
	return t.advisor.Options.Limit
}

// newcomer returns the job as a resident of a part of a node.
func (t *ranking) newcomer(n *Node, part *occupancy.Node) occupancy.Resident {
	name := "newcomer"
	if t.request.Job != nil {
		name = t.request.Job.String()
	}
	return occupancy.Resident{
		Name: name, Node: n.Name, Application: t.request.Application, Entry: t.occupancy.Entry(t.request.Application, n),
		CPUs: t.request.CPUsPerNode, Limit: t.limit(), Caches: t.occupancy.Caches(part),
	}
}

// candidates scores every node and sorts them.
func (t *ranking) candidates() ([]Candidate, error) {
	all := make([]Candidate, 0, len(t.nodes))
	for i, n := range t.nodes {
		c, err := t.candidate(n)
		if err != nil {
			return nil, err
		}
		c.rank = i
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Candidate) int { return a.compare(&b) })
	return all, nil
}

// returning scores the nodes that the job could use if they were up and not kept for others,
// and says of the others why they cannot be scored.
func (t *ranking) returning(c *Cluster) (all []Candidate, unscored []string) {
	for _, n := range t.request.Matching(c) {
		if t.room.CanStart(t.request, n) {
			continue
		}
		candidate, err := t.candidate(n)
		if err != nil {
			unscored = append(unscored, err.Error())
			continue
		}
		all = append(all, candidate)
	}
	return all, unscored
}

func (t *ranking) candidate(n *Node) (Candidate, error) {
	var worst score.Score
	var there []*occupancy.Resident
	alone := t.request.Copies <= 1
	for i, part := range t.landings(n) {
		newcomer := t.newcomer(n, part)
		neighbors := t.occupancy.DomainOf(part).Neighbors(&newcomer, part, time.Time{}, 0)
		s, err := t.scorer.Score(newcomer.Job(), neighbors.Domain())
		if err != nil {
			return Candidate{}, fmt.Errorf("node %s: %w", n.Name, err)
		}
		alone = alone && len(neighbors.Residents) == 0
		if i == 0 || score.Compare(s, worst) > 0 {
			worst, there = s, neighbors.Residents
		}
	}
	c := Candidate{
		Node: n.Name, Domain: worst.Domain, Machine: t.advisor.site().Machine(n), Profile: t.occupancy.Entry(t.request.Application, n).State,
		FreeCPUs: t.room.FreeFor(t.request, n), Fits: t.room.Fits(t.request, n),
		Slowdown: worst.Newcomer.After, Cost: worst.Cost, OverLimit: worst.OverLimit, Avoided: worst.Avoided,
		Residents: make([]ResidentHere, len(worst.Residents)), Parts: worst.Newcomer.Parts.Show(), Score: worst, alone: alone,
	}
	for i, e := range worst.Residents {
		r := there[i]
		c.Residents[i] = ResidentHere{
			Job: r.Name, Node: r.Node, Application: r.Application,
			Before: e.Before, After: e.After, Limit: e.Limit, Known: e.Known, Parts: e.Parts.Show(),
		}
		if e.Known {
			continue
		}
		c.Residents[i].Reason = r.Entry.Reason
		if t.advisor.Options.Score.Unknown != score.Assume {
			c.Residents[i].Before, c.Residents[i].After = 0, 0
		}
	}
	if err := t.pile(n, &c); err != nil {
		return Candidate{}, fmt.Errorf("node %s: %w", n.Name, err)
	}
	c.explain()
	return c, nil
}

// pile judges a node by as many tasks of an array as Slurm may start there together:
// they have one list of excluded nodes, so nothing spreads them. It matters only where
// a limit does.
func (t *ranking) pile(n *Node, c *Candidate) error {
	if t.request.Copies < 2 || t.limit() == 0 || t.placing || c.OverLimit > 0 {
		return nil
	}
	if t.bare == nil {
		t.bare = emptyRoom(t.room.cluster, t.room.reserved)
	}
	part := t.landings(n)[0]
	newcomer := t.newcomer(n, part)
	neighbors := t.occupancy.DomainOf(part).Neighbors(&newcomer, part, time.Time{}, 0)
	beside := neighbors.Domain()
	empty := beside
	empty.Residents = nil
	for _, there := range []struct {
		domain score.Domain
		room   *Room
	}{{beside, t.room}, {empty, t.bare}} {
		tasks := there.room.together(t.request, n, t.request.Copies)
		if tasks < 2 {
			continue
		}
		domain := there.domain
		domain.Residents = slices.Clone(domain.Residents)
		for range tasks - 1 {
			domain.Residents = append(domain.Residents, newcomer.Job())
		}
		s, err := t.scorer.Score(newcomer.Job(), domain)
		if err != nil {
			return err
		}
		if s.OverLimit > 0 && s.Newcomer.After > c.TogetherSlowdown {
			c.Together, c.TogetherSlowdown, c.OverLimit = tasks, s.Newcomer.After, s.OverLimit
			c.Score.OverLimit = s.OverLimit
		}
	}
	return nil
}

// landings returns the parts of the node on which the job may run: those with room,
// or all where none has room for it alone.
func (t *ranking) landings(n *Node) []*occupancy.Node {
	all := t.occupancy.Parts(n)
	roomy := slices.DeleteFunc(slices.Clone(all), func(part *occupancy.Node) bool {
		return t.occupancy.free[part] < t.request.CPUsPerNode
	})
	if len(roomy) > 0 {
		return roomy
	}
	return all
}

// choose places the copies of the job one after the other, each on the best nodes that
// are left, as residents for the next. It returns the candidates as they were when
// they were chosen; short is true when a copy is left for which there is room, but only
// over a limit.
func (t *ranking) choose(ranked []Candidate) (chosen []Candidate, short bool, err error) {
	placing := t.placing
	judged := !placing && t.limit() != 0 && anyKnown(ranked)
	t.placing = true
	defer func() { t.placing = placing }()
	open := slices.Clone(ranked)
	for range max(1, min(t.request.Copies, mostCopies)) {
		taken := map[string]bool{}
		for range t.request.Nodes {
			best := slices.IndexFunc(open, func(c Candidate) bool { return c.Fits && c.keeps(judged) && !taken[c.Node] })
			if best < 0 {
				break
			}
			c := open[best]
			taken[c.Node] = true
			chosen = append(chosen, c)
			if err := t.place(open, c.Node); err != nil {
				return nil, false, err
			}
		}
		if len(taken) < t.request.Nodes {
			// Fewer nodes than the job needs are of no use.
			t.placed = len(taken)
			complete := chosen[:len(chosen)-len(taken)]
			return complete, len(complete) > 0 && t.crowded(open, judged), nil
		}
	}
	return chosen, false, nil
}

// crowded reports whether there is room for the job, but nowhere within the limits.
func (t *ranking) crowded(open []Candidate, judged bool) bool {
	fitting, within := 0, 0
	for i := range open {
		if open[i].Fits {
			fitting++
			if open[i].keeps(judged) {
				within++
			}
		}
	}
	return t.limit() != 0 && fitting >= t.request.Nodes && within < t.request.Nodes
}

// place makes the job a resident of a node, and ranks the nodes of its memory domain
// again.
func (t *ranking) place(open []Candidate, node string) error {
	at := slices.IndexFunc(t.nodes, func(n *Node) bool { return n.Name == node })
	n := t.nodes[at]
	t.room.Take(t.request, n)
	landings := t.landings(n)
	for _, part := range landings {
		t.occupancy.Place(t.newcomer(n, part), part, t.request.CPUsPerNode/float64(len(landings)))
	}
	site := t.advisor.site()
	for i := range open {
		other := t.nodes[open[i].rank]
		if site.Domain(other) != site.Domain(n) {
			continue
		}
		c, err := t.candidate(other)
		if err != nil {
			return err
		}
		c.rank = open[i].rank
		open[i] = c
	}
	slices.SortFunc(open, func(a, b Candidate) int { return a.compare(&b) })
	return nil
}
