package slurm

import (
	"cmp"
	"fmt"
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// Advice ranks nodes for a job. Its JSON form is that of `bandmate slurm advise
// --json`.
type Advice struct {
	// Job is what a user calls the job; empty for one not submitted yet.
	Job         string `json:"job,omitempty"`
	Application string `json:"application"`
	// Source says how the application is known: comment, site file, job name, or
	// command line.
	Source      string  `json:"source,omitempty"`
	Nodes       int     `json:"nodes"`
	CPUsPerNode float64 `json:"cpusPerNode"`
	// Copies is how many tasks of an array may run at once; absent outside arrays.
	Copies int `json:"copies,omitempty"`
	// Limit is the slowdown that no job may exceed; absent without one.
	Limit units.Slowdown `json:"limit,omitempty"`
	// Candidates are the nodes on which the job can run, from best to worst:
	// those with room now before the others.
	Candidates []Candidate `json:"candidates"`
	// Chosen are the best nodes to start on now; none without room.
	Chosen []string `json:"chosen"`
	// Exclude are the nodes to stay off, for --exclude: those that the user excluded,
	// worse ones, and those over a limit that are not among the candidates because they
	// are down or kept for others. Never so many that the job could not start.
	Exclude []string `json:"exclude"`
	// LimitExceeded is true when a limit would be exceeded on any nodes.
	LimitExceeded bool `json:"limitExceeded"`
	// Warnings say what makes the advice doubtful; never nil.
	Warnings []string `json:"warnings"`

	// partly are the nodes with room for some tasks only, each of which takes cpusPerTask.
	partly      []Candidate
	cpusPerTask float64
	// within counts the candidates that keep the limits; placed counts the nodes that were
	// found for the job when they were too few to choose any.
	within, placed int
}

// Candidate is a node and what placing the job there would do.
type Candidate struct {
	Node    string `json:"node"`
	Domain  string `json:"domain"`
	Machine string `json:"machine,omitempty"`
	// Profile says how much is known of the job's application on that machine.
	Profile advisor.State `json:"profile"`
	// FreeCPUs is how many CPUs are free now; Fits is true where the job has room.
	FreeCPUs float64 `json:"freeCPUs"`
	Fits     bool    `json:"fits"`
	// Slowdown is that of the job beside the residents.
	Slowdown units.Slowdown `json:"slowdown"`
	// Cost is the score: what the placement adds, less is better.
	Cost float64 `json:"cost"`
	// OverLimit is how many jobs the placement takes above their limits.
	OverLimit int `json:"overLimit"`
	// Together is how many tasks of an array may start on the node at once, where that
	// would exceed a limit, and TogetherSlowdown is then that of each.
	Together         int            `json:"together,omitempty"`
	TogetherSlowdown units.Slowdown `json:"togetherSlowdown,omitempty"`
	// Avoided is true when the node would mix known and unknown jobs and the policy
	// avoids that.
	Avoided   bool           `json:"avoided,omitempty"`
	Residents []ResidentHere `json:"residents"`
	// Parts are what the slowdown is made of; absent where the job is not known to
	// communicate.
	Parts *communication.Shown `json:"parts,omitempty"`
	// Excluded is true when the node is excluded by advice.
	Excluded bool `json:"excluded"`
	// Reason says in words what makes the node good or bad.
	Reason string `json:"reason"`

	// Score is the score that the rest is taken from.
	Score score.Score `json:"-"`

	rank  int  // index in natural order, for equal candidates
	alone bool // nobody is there, wherever on the node the job lands
}

// ResidentHere is a job that runs in the memory domain, and what the newcomer
// would do to it.
type ResidentHere struct {
	Job         string `json:"job"`
	Node        string `json:"node"`
	Application string `json:"application,omitempty"`
	// Before and After are its slowdowns without and with the newcomer; absent where
	// it is unknown and nothing is assumed of it.
	Before units.Slowdown `json:"before,omitempty"`
	After  units.Slowdown `json:"after,omitempty"`
	// Limit is the slowdown it may suffer; absent without one.
	Limit units.Slowdown `json:"limit,omitempty"`
	// Known is false when Before and After are absent or assumed; Reason then says
	// why.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitempty"`
	// Parts are what After is made of; absent where the job is not known to
	// communicate.
	Parts *communication.Shown `json:"parts,omitempty"`
}

// WorstResident returns the highest slowdown of a resident after the placement;
// false where none is known.
func (c *Candidate) WorstResident() (units.Slowdown, bool) {
	var worst units.Slowdown
	for _, r := range c.Residents {
		worst = max(worst, r.After)
	}
	return worst, worst > 0
}

// compare orders candidates from best to worst.
func (c *Candidate) compare(other *Candidate) int {
	return cmp.Or(
		cmp.Compare(other.room(), c.room()),
		score.Compare(c.Score, other.Score),
		cmp.Compare(c.rank, other.rank),
	)
}

// room is 1 for a node with room, 0 for others.
func (c *Candidate) room() int {
	if c.Fits {
		return 1
	}
	return 0
}

// explain sets the reason: which job would be slowed down, from what to what.
func (c *Candidate) explain() {
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e := c.Score.Newcomer; e.OverLimit() {
		say("the job itself would be slowed down %s%s, above its limit of %s", e.After, c.by(), e.Limit)
	}
	switch limit := c.Score.Newcomer.Limit; {
	case c.Together == 0:
	case limit != 0 && c.TogetherSlowdown > limit:
		say("%d of its tasks at once would be slowed down %s each, above their limit of %s", c.Together, c.TogetherSlowdown, limit)
	default:
		say("%d of its tasks at once would take others above their limits", c.Together)
	}
	for _, r := range c.Residents {
		if r.Limit != 0 && r.After > r.Limit && r.After > r.Before {
			say("%s would go from %s to %s, above its limit of %s", r.name(), r.Before, r.After, r.Limit)
		}
	}
	if c.Avoided {
		say("mixes known and unknown jobs")
	}
	if c.OverLimit == 0 {
		switch worst := c.worst(); {
		case worst == nil:
			say("no other job is there")
		case !c.Score.Newcomer.Known:
			say("what the job would suffer is not known")
		case c.Slowdown < 1.005 && c.Cost < 0.005:
			say("no job would be slowed down")
		case worst.After >= c.Slowdown && worst.Before.String() == worst.After.String():
			say("hardly slows down %s", worst.name())
		case worst.After >= c.Slowdown:
			say("slows down %s from %s to %s", worst.name(), worst.Before, worst.After)
		default:
			say("is slowed down %s%s", c.Slowdown, c.by())
		}
	}
	if p := c.Score.Newcomer.Parts; p.Communicates && p.Penalty > noticed {
		say("its communication takes %.2f times as long beside that of others", p.Penalty)
	}
	if unknown := c.unknownResidents(); unknown > 0 {
		say("%d of %d residents unknown", unknown, len(c.Residents))
	}
	if !c.Fits {
		say("no room now")
	}
	c.Reason = strings.Join(parts, "; ")
}

// name is the resident as people know it.
func (r *ResidentHere) name() string { return Named(r.Job, r.Application) }

// Named returns a job with its application, if that is known, for messages.
func Named(job, application string) string {
	if application == "" {
		return job
	}
	return fmt.Sprintf("%s (%s)", job, application)
}

// worst returns the resident with the highest slowdown after the placement; nil
// without residents.
func (c *Candidate) worst() *ResidentHere {
	var worst *ResidentHere
	for i := range c.Residents {
		if r := &c.Residents[i]; worst == nil || r.After > worst.After {
			worst = r
		}
	}
	return worst
}

// by names the residents that slow the job down.
func (c *Candidate) by() string {
	return By(len(c.Residents), func(i int) string { return c.Residents[i].name() })
}

// By names n jobs that slow another one down, or says how many if there are more than two.
func By(n int, name func(i int) string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " by " + name(0)
	case 2:
		return " by " + name(0) + " and " + name(1)
	}
	return fmt.Sprintf(" by %s and %d others", name(0), n-1)
}

// noticed is the least penalty of the network that is worth a word.
const noticed = 1.05

func (c *Candidate) unknownResidents() int {
	n := 0
	for _, r := range c.Residents {
		if !r.Known {
			n++
		}
	}
	return n
}
