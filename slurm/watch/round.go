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
	// expected are the names of the nodes where it is expected.
	expected []string
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
	r.possible.lookups, r.possible.names = r.expected.lookups, r.expected.names
	return r, nil
}

// consider returns the job as one to decide about, or nil and why not.
func (r *round) consider(j *slurm.Job, e Entry) (*waiting, string, error) {
	w := &waiting{job: j, entry: e, application: r.expected.nameOf(j), request: r.planner.Site.Request(j)}
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

// soon reports whether the job starts as soon as there is room for it.
func soon(j *slurm.Job) bool {
	return !j.Held() && !j.Dependent() && j.Reason != "BeginTime"
}

// expect finds the nodes where a job will start if it can start now, and counts
// it as a resident there; of an array, as many tasks as can start.
func (r *round) expect(w *waiting) error {
	if !soon(w.job) {
		return nil
	}
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

// decide finds out which nodes the job may use, and excludes the others.
func (r *round) decide(w *waiting) (Decision, error) {
	options, err := r.possible.options(w)
	if err != nil {
		return Decision{}, err
	}
	slices.SortStableFunc(options, better)
	var open, closed []option
	available := 0
	for _, o := range options {
		here := slices.Contains(w.expected, o.node.Name)
		if !here && (!o.good() || r.dear(w, o, options)) {
			closed = append(closed, o)
			continue
		}
		open = append(open, o)
		if o.node.Available() {
			available++
		}
		if !here {
			r.mayCome(w, o.node)
		}
	}
	reason := r.reason(w, closed)
	for _, o := range r.leastBad(w, closed) {
		if available >= w.request.Nodes {
			break
		}
		reason = fmt.Sprintf("%s; %s stays open all the same, because %s have to remain", reason, o.node.Name, nodes(w.request.Nodes))
		open = append(open, o)
		closed = slices.DeleteFunc(closed, func(c option) bool { return c.node == o.node })
		available++
	}
	if available < w.request.Nodes {
		// Fewer nodes are up than the job needs: whatever comes back may do.
		open, closed = append(open, closed...), nil
		reason = fmt.Sprintf("fewer than %s are up", nodes(w.request.Nodes))
	}
	d := compose(w, names(closed), reason)
	d.Slowdown = best(open).newcomer
	return d, nil
}

// leastBad orders the nodes of which some have to stay open although none is
// good: those where the job has to wait for room come first, because there it
// harms nobody yet.
func (r *round) leastBad(w *waiting, closed []option) []option {
	up := slices.DeleteFunc(slices.Clone(closed), func(o option) bool { return !o.node.Available() })
	slices.SortStableFunc(up, func(a, b option) int {
		first, second := r.room.Fits(&w.request, a.node), r.room.Fits(&w.request, b.node)
		switch {
		case first == second:
			return better(a, b)
		case first:
			return 1
		}
		return -1
	})
	return up
}

func best(options []option) option {
	if len(options) == 0 {
		return option{}
	}
	return slices.MinFunc(options, better)
}

// dear reports whether the margin speaks against a node.
func (r *round) dear(w *waiting, o option, options []option) bool {
	allowed := r.planner.Margin * w.request.CPUsPerNode
	return allowed > 0 && o.cost > options[0].cost+allowed
}

// mayCome counts the job among those that may come to a node, as long as they
// fit: what does not fit cannot come, and the earlier ones stand for it. One
// may always, because a resident may leave.
func (r *round) mayCome(w *waiting, n *slurm.Node) {
	booked := r.booked[n.Name]
	if booked > 0 && booked+w.takes(n) > r.room.Free(n) {
		return
	}
	r.possible.place(w.job, n)
	r.booked[n.Name] = booked + w.takes(n)
}

// reason says in words why nodes are closed.
func (r *round) reason(w *waiting, closed []option) string {
	over := slices.IndexFunc(closed, func(o option) bool { return o.overLimit > 0 })
	switch {
	case len(closed) == 0:
		return "every node will do"
	case over >= 0:
		o := closed[over]
		return fmt.Sprintf("on %s %s would be slowed down %s and the worst of those there %s; the limit is %s",
			o.node.Name, w.application, o.newcomer, o.worst, r.planner.Limit)
	case slices.ContainsFunc(closed, func(o option) bool { return o.avoided }):
		return "known and unknown applications are kept apart"
	}
	return "other nodes cost less"
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
