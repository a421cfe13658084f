package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/slurm"
)

// tableLife is how many intervals the table is valid: longer than a round that has to
// wait for slurmctld.
const tableLife = 6

// Round reads the cluster, decides, acts as the mode says, and saves the state. After
// an error that is not ErrState everything is as it was or saved as intended, and the
// next round goes on from there.
func (w *Watcher) Round(ctx context.Context) error {
	began := w.now()
	clock := time.Now()
	if off := SwitchedOff(w.Folder); off != w.status.SwitchedOff {
		w.status.SwitchedOff = off
		action := On
		if off {
			action = Off
		}
		w.say(Record{Action: action})
	}
	done := Round{Time: began.UTC()}
	err := w.round(ctx, &done)
	done.Seconds = time.Since(clock).Seconds()
	done.KeptOff = w.keptOff()
	w.status.Round, w.status.KeptOff = &done, done.KeptOff
	if err == nil {
		w.status.Good = &done
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		w.status.FailedRounds++
		if w.status.Error != err.Error() {
			w.say(Record{Action: Failed, Error: err.Error()})
		}
		w.status.Error = err.Error()
	case w.status.FailedRounds > 0:
		w.say(Record{Action: Recovered, Done: true, Reason: fmt.Sprintf("after %d rounds", w.status.FailedRounds)})
		fallthrough
	default:
		w.status.FailedRounds, w.status.Error = 0, message(w.unsaid)
	}
	w.status.NextSeconds = w.pause().Seconds()
	w.status.Running = true
	return errors.Join(err, w.status.save(w.Folder))
}

// noRemarks is the warning where squeue tells no AdminComment.
const noRemarks = "squeue writes no JSON here, so the AdminComment of jobs is not known: --mode advise writes no advice, and what job_submit.lua excludes counts as excluded by the user"

func (w *Watcher) round(ctx context.Context, done *Round) error {
	if w.status.SwitchedOff {
		_, err := w.takeBack(ctx, false)
		return err
	}
	planner, err := w.Planner()
	if err != nil {
		return err
	}
	c, err := w.look(ctx, planner.Site)
	if err != nil {
		return err
	}
	done.Warnings = c.Warnings
	if slices.ContainsFunc(c.Jobs, func(j slurm.Job) bool { return j.AdminCommentUntold }) {
		done.Warnings = append(slices.Clip(c.Warnings), noRemarks)
	}
	decisions, err := planner.Plan(c, w.state.Jobs)
	if err != nil {
		return err
	}
	w.remember(decisions)
	records := make(map[int64]Record, len(decisions))
	for _, d := range decisions {
		records[d.Job.ID] = d.record()
		done.Waiting++
		if d.Action != Skip {
			done.Decided++
		}
	}
	err = w.act(ctx, c, planner, decisions, records, done)
	w.say(w.journal.news(c, records)...)
	return errors.Join(err, w.state.save(w.Folder))
}

// keptOff counts the waiting jobs for which nodes are excluded.
func (w *Watcher) keptOff() int {
	n := 0
	for _, e := range w.state.Jobs {
		if e.ours() && !e.Started {
			n++
		}
	}
	return n
}

// act carries the decisions out as far as the mode says.
func (w *Watcher) act(ctx context.Context, c *slurm.Cluster, planner Planner, decisions []Decision, records map[int64]Record, done *Round) error {
	if w.Mode != Enforce {
		if left := w.leftBehind(c); len(left) > 0 {
			for _, d := range left {
				records[d.Job.ID] = d.record()
			}
			return w.enforce(ctx, left, records, done)
		}
		if w.Mode == Advise {
			return w.advise(ctx, decisions, records, done)
		}
		return nil
	}
	err := w.enforce(ctx, decisions, records, done)
	if w.Table == "" || err != nil {
		return err
	}
	table, err := planner.Table(c, decisions, w.now(), max(tableLife*w.Interval, time.Minute))
	if err != nil {
		return err
	}
	return table.write(w.Table)
}

// look reads the cluster and reconciles the memory with it.
func (w *Watcher) look(ctx context.Context, site *slurm.Site) (*slurm.Cluster, error) {
	c, err := w.Read(ctx)
	if err != nil {
		return nil, err
	}
	if w.state.Cluster != "" && c.Name != "" && w.state.Cluster != c.Name {
		return nil, fmt.Errorf("%w %s is of the cluster %s, and this is %s: give each its own --state", ErrState, w.Folder, w.state.Cluster, c.Name)
	}
	if c.Name != "" {
		w.state.Cluster, w.status.Cluster = c.Name, c.Name
	}
	memory, events := w.state.Jobs.Reconcile(c, site)
	w.state.Jobs = memory
	records := make([]Record, 0, len(events))
	for _, e := range events {
		records = append(records, e.record())
	}
	w.say(records...)
	return c, nil
}

// remember records the order in which jobs were first decided about, which of
// them can start, and for which nothing is excluded any longer.
func (w *Watcher) remember(decisions []Decision) {
	turn := w.state.Jobs.turn()
	for _, d := range decisions {
		e, known := w.state.Jobs[d.Job.ID]
		if d.Action == Skip {
			continue
		}
		if !known {
			e = Entry{Original: d.Original, Set: d.Original}
		}
		if e.Turn == 0 {
			e.Job, e.Application, e.Turn = d.Job.String(), d.Application, turn
			turn++
		}
		e.Startable, e.Yielded, e.Tasks = d.Startable, d.Yields, d.Job.PendingTasks
		if d.GivenUp != "" {
			e.GivenUp = d.GivenUp
			w.say(event(d.Job, e, GivenUp, d.GivenUp).record())
		}
		w.state.Jobs[d.Job.ID] = e
	}
}

// enforce tells Slurm what was decided, after saving it. Nothing is set that cannot be saved.
func (w *Watcher) enforce(ctx context.Context, decisions []Decision, records map[int64]Record, done *Round) error {
	now, later := due(decisions, w.state.Jobs, w.MostChanges)
	done.Later = later
	if len(now) == 0 {
		return nil
	}
	before := maps.Clone(w.state.Jobs)
	changes := make([]change, 0, len(now))
	wanted := make(map[int64]Decision, len(now))
	for _, d := range now {
		e := w.state.Jobs[d.Job.ID]
		e.Intended = &d.Excluded
		w.state.Jobs[d.Job.ID] = e
		changes, wanted[d.Job.ID] = append(changes, enforcement(d)), d
	}
	// What is released may be forgotten: on a full disk nothing else is possible.
	if err := w.state.save(w.Folder); err != nil && slices.ContainsFunc(now, func(d Decision) bool { return d.Action != Release }) {
		w.state.Jobs = before
		return err
	}
	outcomes, unanswered := tell(ctx, w.Runner, changes)
	for _, o := range outcomes {
		d, r := wanted[o.job.ID], records[o.job.ID]
		delete(wanted, o.job.ID)
		r.Error = message(o.err)
		if o.err != nil {
			done.Failed++
			records[o.job.ID] = r
			continue
		}
		r.Done = true
		records[o.job.ID] = r
		e := w.state.Jobs[o.job.ID]
		e.Set, e.Intended, e.Failures, e.Pause = d.Excluded, nil, 0, 0
		w.state.Jobs[o.job.ID] = e
		if d.Action == Release {
			done.Released++
		} else {
			done.Changed++
		}
	}
	for id := range wanted { // not tried
		w.state.Jobs[id] = before[id]
	}
	return unanswered
}

// advise writes remarks into the jobs' AdminComment.
func (w *Watcher) advise(ctx context.Context, decisions []Decision, records map[int64]Record, done *Round) error {
	var changes []change
	for _, d := range decisions {
		if c, ok := advice(d); ok && len(changes) < w.MostChanges {
			changes = append(changes, c)
		}
	}
	outcomes, unanswered := tell(ctx, w.Runner, changes)
	for _, o := range outcomes {
		r := records[o.job.ID]
		r.Done, r.Error = o.err == nil, message(o.err)
		records[o.job.ID] = r
		if o.err != nil {
			done.Failed++
		} else {
			done.Changed++
		}
	}
	return unanswered
}

// leftBehind returns the releases of everything that is set.
func (w *Watcher) leftBehind(c *slurm.Cluster) []Decision {
	var decisions []Decision
	for i := range c.Jobs {
		j := &c.Jobs[i]
		e := w.state.Jobs[j.ID]
		if j.Pending() && e.ours() && e.LeftAlone == "" {
			decisions = append(decisions, Decision{
				Job: j, Application: e.Application, Action: Release, Excluded: e.Original, Original: e.Original,
				Reason: "the watch no longer enforces",
			})
		}
	}
	return decisions
}

// takeBack releases everything, removes the table and the remarks, and returns for how
// many jobs it failed. The last time it also tries what failed before and would be tried
// again in a later round only.
func (w *Watcher) takeBack(ctx context.Context, last bool) (left int, err error) {
	var stays error
	if w.Table != "" {
		stays = removeTable(w.Table)
	}
	c, err := w.look(ctx, &slurm.Site{})
	if err != nil {
		return w.keptOff(), errors.Join(stays, err)
	}
	records, done := make(map[int64]Record), Round{}
	decisions := w.leftBehind(c)
	for _, d := range decisions {
		records[d.Job.ID] = d.record()
		if e := w.state.Jobs[d.Job.ID]; last {
			e.Pause = 0
			w.state.Jobs[d.Job.ID] = e
		}
	}
	most := w.MostChanges
	w.MostChanges = max(most, len(decisions))
	err = w.enforce(ctx, decisions, records, &done)
	w.MostChanges = most
	if err == nil {
		err = w.unsay(ctx, c)
	}
	w.say(w.journal.news(c, records)...)
	left = len(decisions) - done.Released
	if last && left > 0 && err == nil {
		// Some jobs may have started or ended since the queue was read.
		if c, err = w.look(ctx, &slurm.Site{}); err == nil {
			left = len(w.leftBehind(c))
		}
	}
	return left, errors.Join(stays, err, w.state.save(w.Folder))
}

// unsay removes the remarks that the mode advise wrote.
func (w *Watcher) unsay(ctx context.Context, c *slurm.Cluster) error {
	if w.Mode != Advise {
		return nil
	}
	var changes []change
	for i := range c.Jobs {
		if j := &c.Jobs[i]; j.Pending() && strings.HasPrefix(j.AdminComment, Remark) {
			changes = append(changes, change{jobs: []*slurm.Job{j}, remark: new(string)})
		}
	}
	_, err := tell(ctx, w.Runner, changes)
	return err
}

func (d Decision) record() Record {
	return Record{
		Action: d.Action, Job: d.Job.String(), User: d.Job.User, Application: d.Application,
		Excluded: d.Excluded, Original: d.Original, Expected: d.Expected, Slowdown: d.Slowdown, Reason: d.Reason,
	}
}

func (e Event) record() Record {
	r := Record{Action: e.Action, Job: e.Name, Application: e.Application, Excluded: e.Excluded, Reason: e.Reason, Done: true}
	if e.Job != nil {
		r.User = e.Job.User
	}
	return r
}
