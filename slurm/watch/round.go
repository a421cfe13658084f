package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// round is the state of one pass over the queue.
type round struct {
	planner Planner
	cluster *slurm.Cluster
	// running has the jobs that run, expected also those expected to start, possible
	// also those that may come to a node, as far as they fit.
	running, expected, possible *ranking
	// now is what the jobs leave that run, room what those of expected leave; booked are
	// the CPUs of the others in possible.
	now, room *slurm.Room
	booked    map[string]float64
	lists     lists
}

// waiting is a waiting job whose application is known.
type waiting struct {
	job         *slurm.Job
	entry       Entry
	application string
	// request is what the job asks for, and excludes what the user does.
	request slurm.Request
	// listed is what the queue shows as excluded.
	listed string
	// nodes are those on which the job may ever run; nil while nobody asks about the job.
	nodes []*slurm.Node
	// expected are the nodes where it starts now, reserved those where it starts when
	// there is room, and reopened those that stay open although they are not good.
	expected, reserved, reopened []string
	// open and closed divide nodes; fewUp means that too few of them are up for the
	// job to start.
	open, closed []option
	fewUp        bool
	// stalled means that the job could have started in the last round and did not, or
	// made way then for one that did not. The reason is unknown: such a job is compared
	// only with running jobs, and no other job makes way for it.
	stalled bool
	// startable means that the job can start now on open nodes; yields that it cannot,
	// although it could beside those that run.
	startable, yields bool
	// offense says which job would exceed which limit on the best of the closed nodes;
	// givenUp says why nothing is excluded for the job any longer.
	offense, givenUp string
	// decision is what was decided, after which nodes, open and closed are nil: of the
	// whole queue they would take too much memory.
	decision Decision
}

func (p Planner) open(c *slurm.Cluster) (*round, error) {
	scorer, err := score.New(p.Score)
	if err != nil {
		return nil, err
	}
	shared := verdicts{kinds: map[kind]int{}, answers: map[question]verdict{}}
	return &round{
		planner: p, cluster: c,
		running: p.newRanking(c, scorer, shared), expected: p.newRanking(c, scorer, shared), possible: p.newRanking(c, scorer, shared),
		now: slurm.NewRoom(c), room: slurm.NewRoom(c), booked: make(map[string]float64), lists: lists{},
	}, nil
}

// consider returns the job if something can be decided about it, else nil and why
// not.
func (r *round) consider(j *slurm.Job, e Entry) (*waiting, string, error) {
	w := &waiting{job: j, entry: e, application: r.expected.Label(j).Application, request: r.planner.Site.Request(j), listed: r.lists.of(j)}
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
	if len(w.nodes) == 0 {
		return nil, "no node can run it", nil
	}
	known := slices.ContainsFunc(w.nodes, func(n *slurm.Node) bool { return r.expected.knows(j, n) })
	if !known {
		return nil, "no profile of " + w.application, nil
	}
	w.nodes = nil
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
		case !w.job.MayStart():
			later = append(later, w)
		default:
			soon = append(soon, w)
		}
	}
	if err := each(soon, r.expect); err != nil {
		return nil, err
	}
	soon = slices.DeleteFunc(soon, func(w *waiting) bool { return w.stalled })
	// Jobs far back in the queue do not start before the next round and are compared
	// only with those that run or are expected.
	near := min(len(soon), depth)
	next := min(len(later), depth-near)
	for _, step := range []struct {
		jobs []*waiting
		do   func(*waiting) error
	}{
		{soon[:near], r.reserve},
		{soon[:near], r.settle(r.widen)},
		{later[:next], r.reserve},
		{later[:next], r.settle(r.widen)},
		{slices.Concat(soon[near:], later[next:], held), r.settle(r.compare)},
	} {
		if err := each(step.jobs, step.do); err != nil {
			return nil, err
		}
	}
	decisions := make([]Decision, len(all))
	for i, w := range all {
		decisions[i] = w.decision
	}
	return decisions, nil
}

// settle returns what does the last step of a job and decides about it.
func (r *round) settle(last func(*waiting) error) func(*waiting) error {
	return func(w *waiting) error {
		if err := last(w); err != nil {
			return err
		}
		if err := r.undelay(w); err != nil {
			return err
		}
		w.decision = r.conclude(w)
		w.nodes, w.open, w.closed = nil, nil, nil
		return nil
	}
}

// options asks about every candidate of a job.
func (r *round) options(w *waiting, beside *ranking) ([]option, error) {
	if w.nodes == nil {
		w.nodes = w.request.Matching(r.cluster)
	}
	return beside.options(w)
}

func each(jobs []*waiting, do func(*waiting) error) error {
	for _, w := range jobs {
		if err := do(w); err != nil {
			return fmt.Errorf("job %s: %w", w.job, err)
		}
	}
	return nil
}

// expect finds the nodes where a job starts if it can start now, and makes it a
// resident there; of an array, as many tasks as can start. Stalled jobs are decided
// about at once.
func (r *round) expect(w *waiting) error {
	defer func() { w.nodes = nil }()
	w.request.Widen(r.cluster, r.room)
	if w.entry.Startable && w.entry.waitsAsBefore(w.job) {
		return r.against(w, r.running)
	}
	for range max(1, w.request.Copies) {
		options, err := r.roomFor(w)
		if err != nil {
			return err
		}
		if len(options) < w.request.Nodes {
			break
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
	if len(w.expected) == 0 && w.entry.Yielded && w.entry.waitsAsBefore(w.job) {
		return r.against(w, r.running)
	}
	return nil
}

// roomFor returns the good options that have room for a job. It narrows a range of nodes to
// as many as there are.
func (r *round) roomFor(w *waiting) ([]option, error) {
	for {
		options, err := r.options(w, r.expected)
		if err != nil {
			return nil, err
		}
		fits := r.room.Fitting(&w.request)
		options = slices.DeleteFunc(options, func(o option) bool { return !o.good() || !fits(o.node) })
		if len(options) >= w.request.Nodes || !w.request.Narrow(len(options)) {
			return options, nil
		}
		w.nodes = nil
	}
}

// against decides about a stalled job.
func (r *round) against(w *waiting, running *ranking) error {
	w.stalled = true
	return r.settle(func(w *waiting) error { return r.compareWith(w, running) })(w)
}

// undelay takes back what would delay the job without a limit that demands it, or make it
// smaller: when the job cannot start now on the open nodes, those stay open on which it can,
// and that are only dearer or mix known and unknown jobs. A stalled job keeps all of these
// open. If Slurm reports that it finds no node although there seemed to be one, nothing is
// excluded any longer.
func (r *round) undelay(w *waiting) error {
	fitsNow := r.now.Fitting(&w.request)
	fits := func(o option) bool { return fitsNow(o.node) }
	startable := 0
	for _, o := range w.open {
		if fits(o) {
			startable++
		}
	}
	if w.stalled && w.entry.ours() && lacksNodes(w.job) && startable >= w.request.Nodes && slices.ContainsFunc(w.closed, fits) {
		w.givenUp = "Slurm did not start the job where there seemed to be room for it"
		w.open, w.closed = append(w.open, w.closed...), nil
		return nil
	}
	if startable < w.request.Nodes || w.stalled {
		spared := slices.DeleteFunc(slices.Clone(w.closed), func(o option) bool { return o.overLimit > 0 || !fits(o) })
		if w.request.Narrow(startable + len(spared)) {
			return r.undelay(w)
		}
		if startable+len(spared) >= w.request.Nodes {
			w.open = append(w.open, spared...)
			w.closed = slices.DeleteFunc(w.closed, func(o option) bool { return o.overLimit == 0 && fits(o) })
			startable += len(spared)
		}
	}
	w.startable = startable >= w.request.Nodes
	if w.startable || len(w.closed) == 0 {
		return nil
	}
	for _, o := range w.closed {
		v, err := r.running.ask(w.job, o.node)
		if err != nil {
			return err
		}
		if v.overLimit == 0 && fits(o) {
			startable++
		}
	}
	w.yields = startable >= w.request.Nodes
	return nil
}

// lacksNodes reports whether Slurm says that a job waits because no node can run it
// now, rather than for its turn, a license or a limit of its user. Of a component of a
// heterogeneous job that is unknown: all components start together, and wait with this
// reason when one of them lacks nodes.
func lacksNodes(j *slurm.Job) bool {
	return j.HetID == 0 &&
		(j.Reason == "Resources" || j.Reason == "Reservation" || strings.HasPrefix(j.Reason, "ReqNodeNotAvail"))
}

// reserve finds as many nodes as a job needs that has to wait for room. Jobs that run
// there will have ended; it must be good beside all that are expected or have reserved
// before it, and fit beside those.
func (r *round) reserve(w *waiting) error {
	if len(w.expected) > 0 {
		return nil
	}
	options, err := r.options(w, r.possible)
	if err != nil {
		return err
	}
	options = slices.DeleteFunc(options, func(o option) bool {
		return !o.good() || !r.now.CanStart(&w.request, o.node) || r.overbooks(w, o.node)
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

// overbooks reports whether a job does not fit on a node beside those booked there.
func (r *round) overbooks(w *waiting, n *slurm.Node) bool {
	takes := r.now.Takes(&w.request, n)
	return r.booked[n.Name]+takes > max(float64(n.CPUs), takes)
}

func (r *round) book(w *waiting, n *slurm.Node) {
	r.possible.place(w.job, n)
	r.booked[n.Name] += r.now.Takes(&w.request, n)
}

// widen opens every node to the job on which it is good beside all that may come
// there, and books it there as long as it fits: what does not fit cannot come, and the
// earlier ones stand for it. The first always fits, because a resident may leave.
func (r *round) widen(w *waiting) error {
	options, err := r.options(w, r.possible)
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
			if booked := r.booked[o.node.Name]; booked == 0 || booked+r.now.Takes(&w.request, o.node) <= r.room.Free(o.node) {
				r.book(w, o.node)
			}
		}
	}
	if err := r.accuse(w, r.possible); err != nil {
		return err
	}
	return r.reopen(w)
}

// compare opens the nodes on which the job is good beside those that run or are
// expected, and books nothing.
func (r *round) compare(w *waiting) error { return r.compareWith(w, r.expected) }

func (r *round) compareWith(w *waiting, beside *ranking) error {
	options, err := r.options(w, beside)
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
	if err := r.accuse(w, beside); err != nil {
		return err
	}
	return r.reopen(w)
}

// reopen opens as many nodes as the job needs when fewer are. Nodes that only waiting
// jobs make bad come first; of equally bad ones, those where the job has to wait for
// room, because it harms nobody there yet.
func (r *round) reopen(w *waiting) error {
	canStart := func(o option) bool { return r.now.CanStart(&w.request, o.node) }
	available, within := 0, 0
	for _, o := range w.open {
		if canStart(o) {
			available++
		}
	}
	for _, o := range w.closed {
		if o.overLimit == 0 && canStart(o) {
			within++
		}
	}
	if w.request.Narrow(available + within) {
		return r.reopen(w)
	}
	if available >= w.request.Nodes {
		return nil
	}
	type choice struct {
		expected, possible option
		fits               int
	}
	fits := r.room.Fitting(&w.request)
	var choices []choice
	for _, o := range w.closed {
		if !canStart(o) {
			continue
		}
		v, err := r.expected.ask(w.job, o.node)
		if err != nil {
			return fmt.Errorf("node %s: %w", o.node.Name, err)
		}
		c := choice{option{o.node, v}, o, 0}
		if fits(o.node) {
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
		if !w.job.Held() && !w.stalled {
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
