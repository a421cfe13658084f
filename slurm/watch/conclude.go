package watch

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// conclude returns the decision that excludes the closed nodes.
func (r *round) conclude(w *waiting) Decision {
	reason := r.reason(w)
	d := compose(w, names(w.closed), reason)
	d.Startable, d.Yields, d.GivenUp = w.startable && w.job.MayStart(), w.yields && w.job.MayStart(), w.givenUp
	if len(w.open) > 0 {
		d.Slowdown = slices.MinFunc(w.open, better).newcomer
	}
	return d
}

// dear reports whether a node costs more than the margin allows, beside the cheapest one
// of which the costs are known. The options are sorted.
func (r *round) dear(w *waiting, o option, options []option) bool {
	allowed := r.planner.Margin * w.request.CPUsPerNode
	cheapest := slices.IndexFunc(options, func(o option) bool { return o.known })
	return allowed > 0 && cheapest >= 0 && o.cost > options[cheapest].cost+allowed
}

// accuse sets the offense of the best node that a limit closes.
func (r *round) accuse(w *waiting, beside *ranking) error {
	at := slices.IndexFunc(w.closed, func(o option) bool { return o.overLimit > 0 })
	if at < 0 {
		return nil
	}
	var err error
	w.offense, err = beside.offense(w.job, w.closed[at].node)
	return err
}

// reason says why nodes are closed, or open although they are not good.
func (r *round) reason(w *waiting) string {
	over := slices.ContainsFunc(w.closed, func(o option) bool { return o.overLimit > 0 })
	reason := "other nodes cost less"
	switch {
	case w.givenUp != "":
		return w.givenUp
	case w.fewUp:
		return fmt.Sprintf("fewer than %s are up", nodes(w.request.Nodes))
	case len(w.closed) == 0:
		reason = "every node is good"
	case over:
		reason = w.offense
	case slices.ContainsFunc(w.closed, func(o option) bool { return o.avoided }):
		reason = "known and unknown applications are kept apart"
	}
	if len(w.reopened) == 0 {
		return reason
	}
	if len(w.closed) == 0 {
		reason = "no node is good"
	}
	if w.offense != "" && !over {
		reason = "no node is good: " + w.offense
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
