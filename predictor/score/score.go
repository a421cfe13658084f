// Package score says how good a memory domain is for a newcomer: what the
// newcomer would suffer there, and what it would make its neighbors suffer.
// Every scheduler that Bandmate advises asks this package and no other.
//
// It is pure: profiles come in compiled, nothing is read or written.
package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

// Objective is what a score counts.
type Objective string

const (
	// AddedCost is the newcomer's slowdown beyond 1 and the slowdown it adds to
	// each resident, each times the CPUs that the job holds: the CPUs' worth of
	// work that is lost to contention because of the newcomer.
	AddedCost Objective = "added-cost"
	// WorstSlowdown is the highest slowdown of anyone in the domain beyond 1.
	WorstSlowdown Objective = "worst-slowdown"
)

// Policy says what to do with a job whose profile is missing or half known.
type Policy string

const (
	// Ignore counts what is known of it, and takes the rest as nothing.
	Ignore Policy = "ignore"
	// Assume takes Options.StandIn in its place; see predictor.Assumed.
	Assume Policy = "assume"
	// Avoid counts as Ignore does, and places a domain that would mix known and
	// unknown jobs after every other.
	Avoid Policy = "avoid"
)

// Options say how to score. The zero value counts AddedCost and ignores what is
// unknown.
type Options struct {
	Objective Objective
	Unknown   Policy
	// StandIn is whom Assume takes for an unknown job; its contentiousness must
	// be known. Without curves it counts as undisturbed.
	StandIn *predictor.Application
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var faults []error
	if !slices.Contains([]Objective{"", AddedCost, WorstSlowdown}, o.Objective) {
		faults = append(faults, fmt.Errorf("objective %q: want %s or %s", o.Objective, AddedCost, WorstSlowdown))
	}
	switch o.Unknown {
	case "", Ignore, Avoid:
	case Assume:
		if o.StandIn == nil || !contentious(o.StandIn) {
			faults = append(faults, errors.New("policy assume: want a stand-in of known contentiousness"))
		}
	default:
		faults = append(faults, fmt.Errorf("policy %q: want %s, %s or %s", o.Unknown, Ignore, Assume, Avoid))
	}
	return errors.Join(faults...)
}

// Serving is a service at a load, whose requests arrive however slow the answers are.
type Serving interface {
	// At returns the service as busy as a slowdown makes it: the same object for near
	// slowdowns, and Job.Application for 1.
	At(slowdown units.Slowdown) *predictor.Application
}

// Job is a job to place, or one that is placed.
type Job struct {
	// Name is for the explanation; it need not be the application's.
	Name string
	// Application is the compiled profile; nil when there is none.
	Application *predictor.Application
	// CPUs is how many CPUs the job holds, the weight of its slowdown: finite,
	// not negative. A job without CPUs of its own weighs nothing.
	CPUs float64
	// Limit is the slowdown it may suffer at most, 1 or more; zero means any. That of
	// a service is below 1 where it misses its latency even alone.
	Limit units.Slowdown
	// Serving is the load of a service, for which Application is compiled; nil for a
	// job that does as much as it can.
	Serving Serving
	// Card names the network card that the job uses, where the domain has
	// several: jobs of one card slow down each other's communication. Without
	// names all share one.
	Card string
	// Caches are the last-level caches where it may run, numbered alike in a domain.
	Caches predictor.Caches
	// Unmeasured is true for a resident whose traffic Domain.Background does not include.
	Unmeasured bool
}

func (j Job) validate() error {
	var faults []error
	if !(j.CPUs >= 0) || math.IsInf(j.CPUs, 0) {
		faults = append(faults, fmt.Errorf("job %s: %v CPUs: want a finite number of 0 or more", j.Name, j.CPUs))
	}
	least := units.Slowdown(1)
	if j.Serving != nil {
		least = 0
	}
	if j.Limit != 0 && (!(j.Limit >= least) || math.IsInf(float64(j.Limit), 0)) {
		faults = append(faults, fmt.Errorf("job %s: limit of %v: want a slowdown of 1 or more, or 0 for none", j.Name, float64(j.Limit)))
	}
	return errors.Join(faults...)
}

func (j Job) contentious() bool { return j.Application != nil && contentious(j.Application) }

// Known reports whether the job has a profile with curves and known contentiousness.
func (j Job) Known() bool { return j.Application != nil && fullyKnown(j.Application) }

func contentious(a *predictor.Application) bool {
	_, contentiousness := a.Known()
	return contentiousness
}

func fullyKnown(a *predictor.Application) bool {
	sensitivity, contentiousness := a.Known()
	return sensitivity && contentiousness
}

// Domain is a memory domain and who is there.
type Domain struct {
	Name      string
	Residents []Job
	// Background is the traffic of everyone there who is not a known resident,
	// where it was measured; nil where it was not. What is measured takes the
	// place of what Assume assumes of unknown residents.
	Background *units.Traffic
}

// Effect is what a placement does to one job.
type Effect struct {
	Job string
	// Before and After are its slowdowns without and with the newcomer; Before
	// is 1 for the newcomer.
	Before, After units.Slowdown
	// Cost is what the job contributes under AddedCost.
	Cost float64
	// Limit is the job's own; zero means none.
	Limit units.Slowdown
	// Known is false when the profile is missing or half known, so that Before
	// and After rest on the policy.
	Known bool
	// Parts are what After is made of where the job communicates.
	Parts communication.Parts

	newcomer bool
}

// blame is how much slower a placement has to make a job to be blamed for it:
// predictions converge to a tenth of that.
const blame = 1e-4

// OverLimit reports whether the placement takes the job above its limit, or
// further above. A job that is above its limit already and would not notice
// the newcomer does not count: sending the newcomer elsewhere would not help it. A
// newcomer that exceeds its limit even alone does.
func (e Effect) OverLimit() bool {
	return e.Limit != 0 && e.After > e.Limit && (e.After > e.Before+blame || e.newcomer && e.Limit < 1)
}

// Score is how good a domain is for the newcomer.
type Score struct {
	Domain    string
	Objective Objective
	// Cost is the objective's value: 0 where nobody is slowed down, more is
	// worse. It may be below zero by rounding only.
	Cost float64
	// OverLimit is how many jobs the placement takes above their limits.
	OverLimit int
	// Avoided is true when the policy Avoid places the domain last.
	Avoided bool
	// Newcomer, then Residents in their order.
	Newcomer  Effect
	Residents []Effect
}

// Unknown returns the names of the jobs whose effect rests on the policy.
func (s Score) Unknown() []string {
	var names []string
	for _, e := range s.effects() {
		if !e.Known {
			names = append(names, e.Job)
		}
	}
	return names
}

func (s Score) effects() []Effect { return append([]Effect{s.Newcomer}, s.Residents...) }

// Compare orders scores from better to worse: no limit exceeded first, then
// what need not be avoided, then the lower cost. Equal ones compare as 0.
func Compare(a, b Score) int {
	return cmp.Or(
		cmp.Compare(a.OverLimit, b.OverLimit),
		cmp.Compare(btoi(a.Avoided), btoi(b.Avoided)),
		cmp.Compare(a.Cost, b.Cost),
	)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
