// Package advisor holds the profiles of many applications on many machines,
// compiled, and says for an application on a machine which one to predict with
// and how far to trust it. Every scheduler that Bandmate advises asks this
// package, so that all of them know the same.
//
// It is pure: profiles come in as objects, nothing is read or written.
package advisor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
)

// State is how much is known of an application on a machine.
type State string

const (
	// Known means a sound profile, measured on the machine.
	Known State = "known"
	// HalfKnown means a profile without curves or without contentiousness: good
	// as a neighbor only, or as a target only.
	HalfKnown State = "half-known"
	// CarriedOver means that the profile was measured on another machine and
	// computed for this one, with a wider interval.
	CarriedOver State = "carried-over"
	// Unknown means that there is no profile to predict with.
	Unknown State = "unknown"
	// Invalid means that there is a profile, but nobody should believe it.
	Invalid State = "invalid"
)

// States lists every State, the most certain first.
func States() []State { return []State{Known, HalfKnown, CarriedOver, Unknown, Invalid} }

// Entry is what an Advisor says of an application on a machine.
type Entry struct {
	// Application predicts; nil when State is Unknown or Invalid.
	Application *predictor.Application
	State       State
	// Reason says why State is not Known; empty when it is.
	Reason string
	// Warnings say what else may be doubted, beside the profile's own.
	Warnings []string
	// Machine is where the profile was measured; empty when there is none.
	Machine string
	// Measured is when; zero when the profile does not say.
	Measured time.Time
}

// Age returns how old the measurement is, never below zero: a clock that runs
// behind another makes nothing younger than new. False when it is not known.
func (e Entry) Age(now time.Time) (time.Duration, bool) {
	if e.Measured.IsZero() {
		return 0, false
	}
	return max(now.Sub(e.Measured), 0), true
}

// Advisor is an immutable set of compiled profiles, safe for concurrent use. The
// zero value knows nobody.
type Advisor struct {
	applications map[string]map[string]*member // by application and machine
	machines     map[string]*v1alpha1.MachineProfile
	networks     map[string]*communication.Machine // by name of the machine
	invalid      map[string]string                 // why a machine profile is, by name
	carried      *sync.Map                         // of carriedKey to *carried
	calibrations *Calibrations                     // nil in the zero value
}

// member is one profile.
type member struct {
	profile *v1alpha1.ApplicationProfile
	entry   Entry
}

// New compiles profiles. None is refused: an invalid one is remembered as such.
// A model of the memory is fitted to those of each machine where there are enough
// (see Calibrations).
// The profiles must not change afterwards.
func New(applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile) *Advisor {
	return (&Advisor{}).Next(applications, machines)
}

// Next is New, but keeps what r compiled from the same objects: the same
// pointers.
func (r *Advisor) Next(applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile) *Advisor {
	next := &Advisor{
		applications: make(map[string]map[string]*member, len(applications)),
		machines:     make(map[string]*v1alpha1.MachineProfile, len(machines)),
		networks:     make(map[string]*communication.Machine, len(machines)),
		invalid:      map[string]string{},
		carried:      &sync.Map{},
	}
	for _, m := range machines {
		if faults := m.Validate(); len(faults) > 0 {
			next.invalid[m.Name] = faults.ToAggregate().Error()
			continue
		}
		next.machines[m.Name] = m
		if network, err := communication.NewMachine(m); err != nil {
			next.invalid[m.Name] = err.Error()
			delete(next.machines, m.Name)
		} else {
			next.networks[m.Name] = network
		}
	}
	for _, p := range applications {
		next.add(r.member(p, next))
	}
	old := r.calibrations
	if old == nil {
		old = &Calibrations{}
	}
	next.calibrations = old.Next(applications)
	return next
}

// member returns what p compiles to for next, from r where r has the same object.
func (r *Advisor) member(p *v1alpha1.ApplicationProfile, next *Advisor) *member {
	machine := p.Spec.Machine.Name
	old := r.applications[v1alpha1.ApplicationOf(p)][machine]
	sameNetwork := p.Spec.Communication == nil || r.machines[machine] == next.machines[machine]
	if old != nil && old.profile == p && len(old.entry.Warnings) == 0 && sameNetwork {
		return old
	}
	return &member{profile: p, entry: compile(p).on(next.networks[machine])}
}

// on returns the entry as its application communicates on a machine.
func (e Entry) on(m *communication.Machine) Entry {
	if e.Application != nil {
		e.Application = e.Application.WithMachine(m)
	}
	return e
}

// compile returns the entry of p on its own machine.
func compile(p *v1alpha1.ApplicationProfile) Entry {
	e := Entry{Machine: p.Spec.Machine.Name, Measured: p.Spec.Measurement.Time.Time}
	if faults := p.Validate(); len(faults) > 0 {
		e.State, e.Reason = Invalid, fmt.Sprintf("profile %s: %v", p.Name, faults.ToAggregate())
		return e
	}
	named := *p
	named.Name = v1alpha1.ApplicationOf(p)
	application, err := predictor.Compile(&named)
	if err != nil {
		e.State, e.Reason = Invalid, err.Error()
		return e
	}
	e.Application, e.State = application, Known
	sensitivity, contentiousness := application.Known()
	switch {
	case !sensitivity:
		e.State, e.Reason = HalfKnown, "the profile has no sensitivity curves"
	case !contentiousness:
		e.State, e.Reason = HalfKnown, "the profile does not say what traffic the application causes"
	}
	return e
}

// add takes a profile in. Of several for one application and machine the one
// measured last counts; of equally old ones, that of the first name.
func (r *Advisor) add(m *member) {
	name := v1alpha1.ApplicationOf(m.profile)
	byMachine := r.applications[name]
	if byMachine == nil {
		byMachine = make(map[string]*member, 1)
		r.applications[name] = byMachine
	}
	machine := m.profile.Spec.Machine.Name
	other := byMachine[machine]
	if other == nil {
		byMachine[machine] = m
		return
	}
	better, worse := m, other
	if order := cmp.Or(
		other.entry.Measured.Compare(m.entry.Measured),
		cmp.Compare(m.profile.Name, other.profile.Name),
	); order > 0 {
		better, worse = other, m
	}
	kept := *better
	kept.entry.Warnings = append(slices.Clone(kept.entry.Warnings), fmt.Sprintf(
		"profiles %s and %s are of the same application on the same machine: %s, the newer, is used",
		better.profile.Name, worse.profile.Name, better.profile.Name))
	byMachine[machine] = &kept
}

// Len returns the number of pairs of application and machine with a profile.
func (r *Advisor) Len() int {
	n := 0
	for _, byMachine := range r.applications {
		n += len(byMachine)
	}
	return n
}

// Count returns how many of them are in each State.
func (r *Advisor) Count() map[State]int {
	counts := map[State]int{}
	for _, byMachine := range r.applications {
		for _, m := range byMachine {
			counts[m.entry.State]++
		}
	}
	return counts
}

// Applications returns the names of all applications with a profile, sorted.
func (r *Advisor) Applications() []string { return slices.Sorted(maps.Keys(r.applications)) }

// Has reports whether there is a profile of an application, on whatever machine.
func (r *Advisor) Has(application string) bool { return len(r.applications[application]) > 0 }

// Own returns every entry of an application on the machines it was measured on,
// by machine name; nil without any. The map may be changed.
func (r *Advisor) Own(application string) map[string]Entry {
	var entries map[string]Entry
	for machine, m := range r.applications[application] {
		if entries == nil {
			entries = map[string]Entry{}
		}
		entries[machine] = r.describe(application, m.entry)
	}
	return entries
}
