package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// Memory is what a watch has set, by Slurm's job id. The state file holds it.
type Memory map[int64]Entry

// Entry is what was done to one waiting job. Lists are host lists as
// hostlist.Compress writes them; an empty one excludes nothing.
type Entry struct {
	// Job is the job as users write it, for people who read the file.
	Job         string `json:"job"`
	Application string `json:"application,omitempty"`
	// Original is what was excluded before the first change: the user's.
	Original string `json:"original"`
	// Set is what Slurm confirmed last; Original where the watch has set nothing.
	Set string `json:"set"`
	// Intended is what Slurm is being told; nil when no change is under way. After a
	// crash the queue says whether the change was made.
	Intended *string `json:"intended,omitempty"`
	// Turn is the number of the first decision; earlier decisions go before later
	// ones. It is no time, because clocks are set back. 0 before the first.
	Turn int64 `json:"turn"`
	// Startable is true when the job could have started in the last round, Yielded when
	// it made way then for others that were expected to; Tasks are those of an array that
	// waited then.
	Startable bool   `json:"startable,omitempty"`
	Yielded   bool   `json:"yielded,omitempty"`
	Tasks     string `json:"tasks,omitempty"`
	// LeftAlone says why the job is no longer touched; empty when it is.
	LeftAlone string `json:"leftAlone,omitempty"`
	// GivenUp says why nothing is excluded for the job any longer; what is set is
	// taken back.
	GivenUp string `json:"givenUp,omitempty"`
	// Started is true while the job runs: Slurm may queue it again, and what was
	// set is then still set.
	Started bool `json:"started,omitempty"`
	// Failures counts the changes that failed in a row.
	Failures int `json:"failures,omitempty"`
	// Pause counts the rounds until the next attempt.
	Pause int `json:"pause,omitempty"`
}

// ours reports whether the watch has set something.
func (e Entry) ours() bool { return e.Set != e.Original }

// waitsAsBefore reports whether as many tasks wait as in the last round.
func (e Entry) waitsAsBefore(j *slurm.Job) bool { return e.Tasks == j.PendingTasks }

// mostPause is the longest pause before a failed change is tried again, in rounds.
const mostPause = 64

// waits reports whether a failed change is not to be tried yet.
func (e Entry) waits() bool { return e.Pause > 0 }

// Remark starts every AdminComment that Bandmate writes.
const Remark = "bandmate: "

// submitRemark starts what job_submit.lua writes; the excluded nodes follow.
const submitRemark = Remark + "exclude="

// Event is something that happened to a job.
type Event struct {
	Job         *slurm.Job
	ID          int64
	Name        string
	Application string
	Action      Action
	Reason      string
	// Excluded is what is excluded now, as a host list.
	Excluded string
}

// Reconcile compares the memory with the queue, and returns the memory as it is now
// and what happened since. It drops jobs that are gone, adopts exclusions of
// job_submit.lua, resolves changes that were under way, and leaves alone the jobs
// whose exclusions somebody else changed.
func (m Memory) Reconcile(c *slurm.Cluster, site *slurm.Site) (Memory, []Event) {
	next := make(Memory, len(m))
	var events []Event
	shown := lists{}
	present := make(map[int64]bool, len(c.Jobs))
	for i := range c.Jobs {
		j := &c.Jobs[i]
		present[j.ID] = true
		entry, known := m.recall(j, shown.of(j))
		if !known {
			if entry, known = adopted(j, shown.of(j), site); !known {
				continue
			}
			events = append(events, *event(j, entry, Adopted, "job_submit.lua excluded these nodes"))
		}
		entry.Job = j.String()
		entry, happened := entry.reconcile(j, shown.of(j))
		if happened != nil {
			events = append(events, *happened)
		}
		if entry.worthKeeping() {
			next[j.ID] = entry
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if e := m[id]; !present[id] && e.ours() && !e.Started {
			events = append(events, Event{ID: id, Name: e.Job, Application: e.Application, Action: Gone, Excluded: e.Set, Reason: "no longer in the queue"})
		}
	}
	return next, events
}

// recall returns what is remembered of a job.
func (m Memory) recall(j *slurm.Job, shown string) (Entry, bool) {
	if e, ok := m[j.ID]; ok {
		return e, true
	}
	if e, ok := m[j.ArrayID]; ok && j.ArrayID != 0 && e.ours() && e.Set == shown {
		// A task of an array has what the array had.
		e.Intended, e.LeftAlone, e.Failures = nil, "", 0
		return e, true
	}
	return Entry{}, false
}

// worthKeeping reports whether dropping the entry would lose anything.
func (e Entry) worthKeeping() bool {
	return e.Turn > 0 && !e.Started || e.ours() || e.Intended != nil || e.LeftAlone != "" || e.GivenUp != "" || e.Failures > 0
}

// reconcile updates the entry of a job by what the queue shows.
func (e Entry) reconcile(j *slurm.Job, shown string) (Entry, *Event) {
	if !j.Pending() {
		before := e.Started
		e.Started, e.Startable, e.Yielded, e.Tasks = true, false, false, ""
		if before || !e.ours() || !j.Occupies() {
			return e, nil
		}
		return e, event(j, e, Started, "on "+hostlist.Compress(j.Nodes))
	}
	e.Started = false
	if e.LeftAlone != "" {
		return e, nil
	}
	if e.Intended != nil {
		switch shown {
		case *e.Intended:
			e.Set, e.Failures, e.Pause = shown, 0, 0
		case e.Set:
			e.Failures++
			e.Pause = mostPause
			if e.Failures < 6 {
				e.Pause = 1 << e.Failures
			}
		}
		e.Intended = nil
	}
	e.Pause = max(0, e.Pause-1)
	switch {
	case shown == e.Set && e.ours() && j.Reason == "BadConstraints" && e.GivenUp == "":
		e.GivenUp = "Slurm finds no node for the job with these exclusions"
		return e, event(j, e, GivenUp, e.GivenUp)
	case shown == e.Set:
		return e, nil
	case !e.ours():
		// The user excludes other nodes than before.
		e.Original, e.Set = shown, shown
		return e, nil
	}
	e.LeftAlone = "the excluded nodes were changed by others"
	e.Original, e.Set = shown, shown
	return e, event(j, e, LeftAlone, e.LeftAlone)
}

// adopted returns the entry of a job for which job_submit.lua excluded nodes: its
// remark and the job's list agree.
func adopted(j *slurm.Job, shown string, site *slurm.Site) (Entry, bool) {
	said, ok := strings.CutPrefix(j.AdminComment, submitRemark)
	if !ok || !j.Pending() {
		return Entry{}, false
	}
	nodes, err := hostlist.Expand(said)
	if err != nil || shown == "" || hostlist.Compress(nodes) != shown {
		return Entry{}, false
	}
	return Entry{Application: site.Application(j), Set: shown}, true
}

// listed is the job's excluded nodes as the memory writes them.
func listed(j *slurm.Job) string { return hostlist.Compress(j.Excluded) }

// lists are the lists of the jobs in a queue, each distinct one written once. Jobs with
// equal lists may share the names.
type lists map[nameList]string

// nameList identifies a slice.
type nameList struct {
	first *string
	count int
}

// of is the same as listed.
func (l lists) of(j *slurm.Job) string {
	if len(j.Excluded) == 0 {
		return ""
	}
	key := nameList{&j.Excluded[0], len(j.Excluded)}
	list, ok := l[key]
	if !ok {
		list = listed(j)
		l[key] = list
	}
	return list
}

func event(j *slurm.Job, e Entry, a Action, reason string) *Event {
	return &Event{Job: j, ID: j.ID, Name: j.String(), Application: e.Application, Action: a, Reason: reason, Excluded: listed(j)}
}

// compareTurns orders jobs by when something was first decided about them, then
// by when they came.
func (m Memory) compareTurns(a, b *slurm.Job) int {
	first, second := m[a.ID].Turn, m[b.ID].Turn
	if (first == 0) != (second == 0) {
		return cmp.Compare(second, first)
	}
	return cmp.Or(cmp.Compare(first, second), a.Submitted.Compare(b.Submitted), cmp.Compare(a.ID, b.ID))
}

// turn returns the number of the next decision.
func (m Memory) turn() int64 {
	last := int64(0)
	for _, e := range m {
		last = max(last, e.Turn)
	}
	return last + 1
}
