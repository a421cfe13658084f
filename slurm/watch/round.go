package watch

import (
	"cmp"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// round is the state of one pass over the queue.
type round struct {
	planner Planner
	cluster *slurm.Cluster
	// expected has the jobs that run and those expected to start; possible also those
	// that may come to a node, as far as they fit.
	expected, possible *ranking
	// room is what the jobs of expected leave; booked are the CPUs of the others in
	// possible.
	room   *slurm.Room
	booked map[string]float64
}

// waiting is a waiting job whose application is known.
type waiting struct {
	job         *slurm.Job
	entry       Entry
	application string
	// request is what the job asks for, and excludes what the user does.
	request slurm.Request
	// nodes are those on which the job may ever run.
	nodes []*slurm.Node
	// expected are the nodes where it starts now, reserved those where it starts when
	// there is room, and reopened those that stay open although they are not good.
	expected, reserved, reopened []string
	// open and closed divide nodes; fewUp means that too few of them are up for the
	// job to start.
	open, closed []option
	fewUp        bool
}

func (p Planner) open(c *slurm.Cluster) (*round, error) {
	scorer, err := score.New(p.Score)
	if err != nil {
		return nil, err
	}
	shared := verdicts{kinds: map[kind]int{}, answers: map[question]verdict{}}
	return &round{
		planner: p, cluster: c,
		expected: p.newRanking(c, scorer, shared), possible: p.newRanking(c, scorer, shared),
		room: slurm.NewRoom(c), booked: make(map[string]float64),
	}, nil
}

// consider returns the job if something can be decided about it, else nil and why
// not.
func (r *round) consider(j *slurm.Job, e Entry) (*waiting, string, error) {
	w := &waiting{job: j, entry: e, application: r.expected.Label(j).Application, request: r.planner.Site.Request(j)}
	switch {
	case e.LeftAlone != "":
		return nil, e.LeftAlone, nil
	case e.GivenUp != "":
		return nil, e.GivenUp, nil
	case w.application == "":
		return nil, "no application is named", nil
	case len(j.Required) > 0:
		return nil, "the user chose the nodes", nil
	}
	if e.ours() {
		var err error
		if w.request.Excluded, err = hostlist.Expand(e.Original); err != nil {
			return nil, "", fmt.Errorf("what the state file says the user excluded: %w", err)
		}
	}
	// Nodes that are down may be up before the next round.
	w.nodes = w.request.Matching(r.cluster)
	known := slices.ContainsFunc(w.nodes, func(n *slurm.Node) bool { return r.expected.knows(j, n) })
	if !known {
		return nil, "no profile of " + w.application, nil
	}
	return w, "", nil
}

// depth is how many waiting jobs are compared with each other in a round, as many as
// Slurm's own scheduler tests at a time (default_queue_depth).
const depth = 100

// decide decides about all jobs, in the order given.
func (r *round) decide(all []*waiting) ([]Decision, error) {
	var soon, later, held []*waiting
	for _, w := range all {
		switch {
		case w.job.Held():
			held = append(held, w)
		// After an update Slurm says for a while that a job waits for no reason.
		case w.job.Dependent(), w.job.Dependency != "", w.job.Reason == "BeginTime":
			later = append(later, w)
		default:
			soon = append(soon, w)
		}
	}
	// Jobs far back in the queue do not start before the next round and are compared
	// only with those that run or are expected.
	near := min(len(soon), depth)
	next := min(len(later), depth-near)
	var decisions []Decision
	steps := []struct {
		jobs []*waiting
		do   func(*waiting) error
	}{
		{soon, r.expect},
		{soon[:near], r.reserve},
		{soon[:near], r.widen},
		{later[:next], r.reserve},
		{later[:next], r.widen},
		{slices.Concat(soon[near:], later[next:], held), r.compare},
	}
	for _, step := range steps {
		for _, w := range step.jobs {
			if err := step.do(w); err != nil {
				return nil, fmt.Errorf("job %s: %w", w.job, err)
			}
		}
	}
	for _, w := range all {
		decisions = append(decisions, r.conclude(w))
	}
	return decisions, nil
}

// expect finds the nodes where a job starts if it can start now, and makes it a
// resident there; of an array, as many tasks as can start.
func (r *round) expect(w *waiting) error {
	for range max(1, w.request.Copies) {
		options, err := r.expected.options(w)
		if err != nil {
			return err
		}
		options = slices.DeleteFunc(options, func(o option) bool { return !o.good() || !r.room.Fits(&w.request, o.node) })
		if len(options) < w.request.Nodes {
			return nil
		}
		slices.SortStableFunc(options, better)
		for _, o := range options[:w.request.Nodes] {
			if !slices.Contains(w.expected, o.node.Name) {
				w.expected = append(w.expected, o.node.Name)
			}
			r.expected.place(w.job, o.node)
			r.possible.place(w.job, o.node)
			r.room.Take(&w.request, o.node)
		}
	}
	return nil
}

// takes returns how many CPUs the job holds on a node.
func (w *waiting) takes(n *slurm.Node) float64 {
	if w.request.Exclusive {
		return max(w.request.CPUsPerNode, float64(n.CPUs))
	}
	return w.request.CPUsPerNode
}

// reserve finds as many nodes as a job needs that has to wait for room. Jobs that run
// there will have ended; it must be good beside all that are expected or have reserved
// before it, and fit beside those.
func (r *round) reserve(w *waiting) error {
	if len(w.expected) > 0 {
		return nil
	}
	options, err := r.possible.options(w)
	if err != nil {
		return err
	}
	options = slices.DeleteFunc(options, func(o option) bool {
		return !o.good() || !o.node.Available() || r.booked[o.node.Name]+w.takes(o.node) > max(float64(o.node.CPUs), w.takes(o.node))
	})
	if len(options) < w.request.Nodes {
		return nil
	}
	slices.SortStableFunc(options, better)
	for _, o := range options[:w.request.Nodes] {
		w.reserved = append(w.reserved, o.node.Name)
		r.book(w, o.node)
	}
	return nil
}

func (r *round) book(w *waiting, n *slurm.Node) {
	r.possible.place(w.job, n)
	r.booked[n.Name] += w.takes(n)
}

// widen opens every node to the job on which it is good beside all that may come
// there, and books it there as long as it fits: what does not fit cannot come, and the
// earlier ones stand for it. The first always fits, because a resident may leave.
func (r *round) widen(w *waiting) error {
	options, err := r.possible.options(w)
	if err != nil {
		return err
	}
	slices.SortStableFunc(options, better)
	for _, o := range options {
		switch {
		case slices.Contains(w.expected, o.node.Name), slices.Contains(w.reserved, o.node.Name):
			w.open = append(w.open, o)
		case !o.good() || r.dear(w, o, options):
			w.closed = append(w.closed, o)
		default:
			w.open = append(w.open, o)
			if booked := r.booked[o.node.Name]; booked == 0 || booked+w.takes(o.node) <= r.room.Free(o.node) {
				r.book(w, o.node)
			}
		}
	}
	return r.reopen(w)
}

// compare opens the nodes on which the job is good beside those that run or are
// expected, and books nothing.
func (r *round) compare(w *waiting) error {
	options, err := r.expected.options(w)
	if err != nil {
		return err
	}
	slices.SortStableFunc(options, better)
	for _, o := range options {
		if !o.good() || r.dear(w, o, options) {
			w.closed = append(w.closed, o)
		} else {
			w.open = append(w.open, o)
		}
	}
	return r.reopen(w)
}

// reopen opens as many nodes as the job needs when fewer are. Nodes that only waiting
// jobs make bad come first; of equally bad ones, those where the job has to wait for
// room, because it harms nobody there yet.
func (r *round) reopen(w *waiting) error {
	available := 0
	for _, o := range w.open {
		if o.node.Available() {
			available++
		}
	}
	if available >= w.request.Nodes {
		return nil
	}
	type choice struct {
		expected, possible option
		fits               int
	}
	var choices []choice
	for _, o := range w.closed {
		if !o.node.Available() {
			continue
		}
		v, err := r.expected.ask(w.job, o.node)
		if err != nil {
			return fmt.Errorf("node %s: %w", o.node.Name, err)
		}
		c := choice{option{o.node, v}, o, 0}
		if r.room.Fits(&w.request, o.node) {
			c.fits = 1
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(a, b choice) int {
		return cmp.Or(
			cmp.Compare(a.expected.overLimit, b.expected.overLimit), a.expected.compareAvoided(b.expected),
			cmp.Compare(a.possible.overLimit, b.possible.overLimit),
			cmp.Compare(a.fits, b.fits), better(a.possible, b.possible),
		)
	})
	for _, c := range choices[:min(len(choices), w.request.Nodes-available)] {
		w.open, w.reopened = append(w.open, c.possible), append(w.reopened, c.possible.node.Name)
		w.closed = slices.DeleteFunc(w.closed, func(o option) bool { return o.node == c.possible.node })
		if !w.job.Held() {
			r.book(w, c.possible.node)
		}
		available++
	}
	if available < w.request.Nodes {
		// Fewer nodes are up than the job needs: any that comes back may do.
		w.open, w.closed, w.fewUp = append(w.open, w.closed...), nil, true
	}
	return nil
}

// conclude returns the decision that excludes the closed nodes.
func (r *round) conclude(w *waiting) Decision {
	reason := r.reason(w)
	d := compose(w, names(w.closed), reason)
	if len(w.open) > 0 {
		d.Slowdown = slices.MinFunc(w.open, better).newcomer
	}
	return d
}

// dear reports whether a node costs more than the margin allows.
func (r *round) dear(w *waiting, o option, options []option) bool {
	allowed := r.planner.Margin * w.request.CPUsPerNode
	return allowed > 0 && o.cost > options[0].cost+allowed
}

// reason says why nodes are closed, or open although they are not good.
func (r *round) reason(w *waiting) string {
	over := slices.IndexFunc(w.closed, func(o option) bool { return o.overLimit > 0 })
	reason := "other nodes cost less"
	switch {
	case w.fewUp:
		return fmt.Sprintf("fewer than %s are up", nodes(w.request.Nodes))
	case len(w.closed) == 0:
		reason = "every node is good"
	case over >= 0:
		o := w.closed[over]
		reason = fmt.Sprintf("on %s %s would be slowed down %s and the worst of the others there %s; the limit is %s",
			o.node.Name, w.application, o.newcomer, o.worst, cmp.Or(w.request.Limit, r.planner.Limit))
	case slices.ContainsFunc(w.closed, func(o option) bool { return o.avoided }):
		reason = "known and unknown applications are kept apart"
	}
	if len(w.reopened) == 0 {
		return reason
	}
	if len(w.closed) == 0 {
		reason = "no node is good"
	}
	return fmt.Sprintf("%s; %s stays open nevertheless, because %s must remain", reason, hostlist.Compress(w.reopened), nodes(w.request.Nodes))
}

func nodes(n int) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func names(options []option) []string {
	var names []string
	for _, o := range options {
		names = append(names, o.node.Name)
	}
	return names
}
