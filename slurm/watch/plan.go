package watch

import (
	"errors"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/units"
)

// Action is what is done to a job, or what happened to it.
type Action string

// What a decision may be.
const (
	// Exclude keeps a job off nodes on which it could run so far.
	Exclude Action = "exclude"
	// Change excludes other nodes than before.
	Change Action = "change"
	// Release takes back everything that was excluded for the job.
	Release Action = "release"
	// Keep leaves the job as it is.
	Keep Action = "keep"
	// Skip means that there is nothing to decide: the application is unknown, or
	// the user chose the nodes.
	Skip Action = "skip"
)

// What Reconcile may find out.
const (
	// Adopted means that job_submit.lua excluded the nodes.
	Adopted Action = "adopted"
	// Started means that the job runs.
	Started Action = "started"
	// Gone means that the job ended without starting.
	Gone Action = "gone"
	// LeftAlone means that somebody else changed what was set.
	LeftAlone Action = "left-alone"
	// GivenUp means that Slurm could not place the job with the exclusions.
	GivenUp Action = "given-up"
)

// Decision is what ought to be excluded for a waiting job.
type Decision struct {
	Job         *slurm.Job
	Application string
	Action      Action
	// Excluded is what is to be excluded, the user's own nodes among it;
	// Original is the user's own. Both are host lists.
	Excluded, Original string
	// Expected are the nodes on which the job is expected to start; empty when
	// it has to wait.
	Expected []string
	// Slowdown is that of the job on the best node it may use, beside those who
	// run there and those expected there; 0 when none was predicted.
	Slowdown units.Slowdown
	// Startable is true when the job can start now with these exclusions; Yields when
	// it could not, although it could beside those that run.
	Startable, Yields bool
	// GivenUp says why nothing is excluded for it any longer.
	GivenUp string
	// Reason is for people.
	Reason string
}

// Planner decides which nodes waiting jobs stay off.
type Planner struct {
	Site    *slurm.Site
	Advisor *advisor.Advisor
	// Score says how to score; the zero value counts added cost.
	Score score.Options
	// Limit is the slowdown that neither a newcomer nor a resident with a
	// profile may exceed; 0 for none.
	Limit units.Slowdown
	// Margin also excludes nodes on which the newcomer costs this much more than
	// on the best one, in CPUs' worth of work lost per CPU of the newcomer; 0
	// for none.
	Margin float64
}

// Validate reports every fault at once.
func (p Planner) Validate() error {
	var faults []error
	if p.Limit != 0 && !(p.Limit >= 1) {
		faults = append(faults, fmt.Errorf("limit %v: want a slowdown of 1 or more, such as 1.15, or 0 for none", float64(p.Limit)))
	}
	if !(p.Margin >= 0) {
		faults = append(faults, fmt.Errorf("margin %v: want 0 or more, such as 0.1", p.Margin))
	}
	if p.Limit == 0 && p.Margin == 0 {
		faults = append(faults, errors.New("neither a limit nor a margin: nothing would ever be excluded; give --limit 1.15 or --margin 0.1"))
	}
	return errors.Join(append(faults, p.Score.Validate())...)
}

// Plan decides about every waiting job. The memory must have been reconciled
// with the cluster. Decisions come in the order in which they were made: jobs
// that something was decided about earlier first, then as the jobs came.
//
// Jobs that came together must not all go where it is best for the first. So a
// job that can start now takes the best nodes that are left, and counts as a
// resident there for those after it. A job that has to wait for room does the
// same among those that wait. After that each may also use every other node on
// which nobody's limit would be exceeded even if all those that may use it came
// there, as far as they fit. Jobs that wait for other jobs come last; held ones, those
// far back in the queue, and those that did not start where they were expected, take
// no node from anybody.
//
// No job is delayed but for a limit: where excluding a node for another reason leaves
// none on which the job can start now, it stays open.
func (p Planner) Plan(c *slurm.Cluster, m Memory) ([]Decision, error) {
	round, err := p.open(c)
	if err != nil {
		return nil, err
	}
	var waiting []*waiting
	decisions := make([]Decision, 0, len(c.Jobs))
	for _, j := range queue(c, m) {
		w, reason, err := round.consider(j, m[j.ID])
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j, err)
		}
		if w == nil {
			decisions = append(decisions, skipped(j, m[j.ID], p.Site.Application(j), round.lists.of(j), reason))
			continue
		}
		waiting = append(waiting, w)
	}
	made, err := round.decide(waiting)
	if err != nil {
		return nil, err
	}
	return append(decisions, made...), nil
}

// queue returns the waiting jobs in the order in which they are decided about.
func queue(c *slurm.Cluster, m Memory) []*slurm.Job {
	var jobs []*slurm.Job
	for i := range c.Jobs {
		if c.Jobs[i].Pending() {
			jobs = append(jobs, &c.Jobs[i])
		}
	}
	slices.SortStableFunc(jobs, m.compareTurns)
	return jobs
}

// skipped leaves a job alone, or takes back what was set for it.
func skipped(j *slurm.Job, e Entry, application, shown, reason string) Decision {
	d := Decision{Job: j, Application: application, Action: Skip, Original: shown, Excluded: shown, Reason: reason}
	if e.ours() && e.LeftAlone == "" {
		d.Action, d.Original, d.Excluded = Release, e.Original, e.Original
	}
	return d
}

// compose returns the decision that excludes these nodes beside the user's.
func compose(w *waiting, excluded []string, reason string) Decision {
	original := w.listed
	if w.entry.ours() {
		original = w.entry.Original
	}
	d := Decision{
		Job: w.job, Application: w.application, Original: original,
		Excluded: hostlist.Compress(append(slices.Clone(w.request.Excluded), excluded...)),
		Expected: w.expected, Reason: reason,
	}
	switch shown := w.listed; {
	case d.Excluded == shown:
		d.Action = Keep
	case d.Excluded == d.Original:
		d.Action = Release
	case shown == d.Original:
		d.Action = Exclude
	default:
		d.Action = Change
	}
	return d
}
