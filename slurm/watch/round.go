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
	// expected counts the jobs that run and those expected to start; possible
	// also those that may come to a node, as far as they fit.
	expected, possible *board
	// room is what those who run or are expected leave; booked are the CPUs of
	// those who may come besides.
	room   *slurm.Room
	booked map[string]float64
}

// waiting is a job that something can be decided about.
type waiting struct {
	job         *slurm.Job
	entry       Entry
	application string
	// request is what the job asks for, with the user's own exclusions.
	request slurm.Request
	// nodes are the candidates.
	nodes []*slurm.Node
	// expected are the nodes where it starts now, reserved those where it starts
	// once there is room, and reopened those that are open although they are not
	// good.
	expected, reserved, reopened []string
	// open and closed are the candidates, decided about; fewUp means that too
	// few of them are up for the job to start.
	open, closed []option
	fewUp        bool
}

func (p Planner) open(c *slurm.Cluster) (*round, error) {
	scorer, err := score.New(p.Score)
	if err != nil {
		return nil, err
	}
	r := &round{
		planner: p, cluster: c,
		expected: newBoard(c, p.Site, p.Roster, scorer, p.Limit),
		possible: newBoard(c, p.Site, p.Roster, scorer, p.Limit),
		room:     slurm.NewRoom(c), booked: make(map[string]float64),
	}
	// Both know the same kinds of jobs, so that they share answers.
	r.possible.classes, r.possible.answers = r.expected.classes, r.expected.answers
	r.possible.lookups, r.possible.labels = r.expected.lookups, r.expected.labels
	return r, nil
}

// consider returns the job as one to decide about, or nil and why not.
func (r *round) consider(j *slurm.Job, e Entry) (*waiting, string, error) {
	w := &waiting{job: j, entry: e, application: r.expected.labelOf(j).application, request: r.planner.Site.Request(j)}
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
	w.nodes = candidates(r.cluster, &w.request)
	known := slices.ContainsFunc(w.nodes, func(n *slurm.Node) bool { return r.expected.application(j, n) != nil })
	if !known {
		return nil, "no profile of " + w.application, nil
	}
	return w, "", nil
}

// option is a node for a job.
type option struct {
	node *slurm.Node
	verdict
}

// options asks the board about every candidate.
func (b *board) options(w *waiting) ([]option, error) {
	options := make([]option, len(w.nodes))
	for i, n := range w.nodes {
		v, err := b.ask(w.job, n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		options[i] = option{n, v}
	}
	return options, nil
}

// better orders options: nobody over the limit, then the lower cost.
func better(a, b option) int {
	return cmp.Or(
		cmp.Compare(a.overLimit, b.overLimit),
		cmp.Compare(avoided(a), avoided(b)),
		cmp.Compare(a.cost, b.cost),
	)
}

func avoided(o option) int {
	if o.avoided {
		return 1
	}
	return 0
}

// depth is how many waiting jobs are held against each other in a round, as
// Slurm's own scheduler tests so many at a time (default_queue_depth).
const depth = 100

// settle decides about all jobs, in the order given.
func (r *round) settle(all []*waiting) ([]Decision, error) {
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
	// Those far back in the queue are held against who is there and expected
	// only: they do not start before the next round.
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

// expect finds the nodes where a job will start if it can start now, and counts
// it as a resident there; of an array, as many tasks as can start.
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
			r.room.Take(o.node, w.takes(o.node))
		}
	}
	return nil
}

// takes is how many CPUs the job holds on a node.
func (w *waiting) takes(n *slurm.Node) float64 {
	if w.request.Exclusive {
		return max(w.request.CPUsPerNode, float64(n.CPUs))
	}
	return w.request.CPUsPerNode
}

// reserve finds nodes for a job that has to wait for room, as if those who are
// there had gone: as many as it needs where it gets along with all that are
// expected or have reserved before it, and fits beside the latter.
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

// widen opens every node to the job on which it gets along with all that may
// come there, and books it there as long as it fits: what does not fit cannot
// come, and the earlier ones stand for it. One may always, because a resident may
// leave.
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

// compare opens the nodes on which the job gets along with those who are there or
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

// reopen opens as many nodes as the job needs when fewer are: those where only
// others that wait speak against it come first; then, of equally bad ones, those
// where it has to wait for room, because there it harms nobody yet.
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
			cmp.Compare(a.expected.overLimit, b.expected.overLimit), cmp.Compare(avoided(a.expected), avoided(b.expected)),
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
		// Fewer nodes are up than the job needs: whatever comes back may do.
		w.open, w.closed, w.fewUp = append(w.open, w.closed...), nil, true
	}
	return nil
}

// conclude is the decision that excludes what stayed closed.
func (r *round) conclude(w *waiting) Decision {
	reason := r.reason(w)
	d := compose(w, names(w.closed), reason)
	if len(w.open) > 0 {
		d.Slowdown = slices.MinFunc(w.open, better).newcomer
	}
	return d
}

// dear reports whether the margin speaks against a node.
func (r *round) dear(w *waiting, o option, options []option) bool {
	allowed := r.planner.Margin * w.request.CPUsPerNode
	return allowed > 0 && o.cost > options[0].cost+allowed
}

// reason says in words why nodes are closed, or open all the same.
func (r *round) reason(w *waiting) string {
	over := slices.IndexFunc(w.closed, func(o option) bool { return o.overLimit > 0 })
	reason := "other nodes cost less"
	switch {
	case w.fewUp:
		return fmt.Sprintf("fewer than %s are up", nodes(w.request.Nodes))
	case len(w.closed) == 0:
		reason = "every node will do"
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
	return fmt.Sprintf("%s; %s stays open all the same, because %s have to remain", reason, hostlist.Compress(w.reopened), nodes(w.request.Nodes))
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
