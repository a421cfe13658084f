// Package advisor turns the profiles of applications and machines into predictions. It
// selects the profile of an application on a machine, transfers profiles between
// machines, fits the model of each machine's memory, and predicts groups and pairs.
// Every command, the server and both schedulers use it, so all give the same numbers.
//
// The package is pure: no I/O.
package advisor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/predictor/memory"
)

// Advisor is an immutable index of profiles, safe for concurrent use. It compiles and
// transfers profiles, and fits models of memories, on first use. The zero value has no
// profiles.
type Advisor struct {
	applications map[string]map[string]holding // by application and machine
	machines     map[string]*v1alpha1.MachineProfile
	networks     map[string]*communication.Machine // by machine
	sharedCaches map[string][]cpuset.CPUSet        // by machine
	invalid      map[string]string                 // why a machine's profile is not used, by machine
	broken       []error
	transferred  *sync.Map // of transferKey to *transferred
	calibrations *calibrations
}

// holding is the selected profile of an application on a machine.
type holding struct {
	*member

	warnings []string
}

// member is one profile and what it compiles to.
type member struct {
	profile *Profile
	network *communication.Machine // of its machine; nil when unknown
	link    memory.Link            // of its machine
	fault   error                  // of a profile that could not be read

	once     sync.Once
	compiled Entry
	// application is that of compiled, once there is one.
	application atomic.Pointer[predictor.Application]
}

// entry returns what the profile predicts from its curves alone.
func (h holding) entry() Entry {
	h.once.Do(func() {
		p, err := h.profile.load()
		if err = cmp.Or(h.fault, err); err != nil {
			h.compiled = Entry{State: Invalid, Machine: h.profile.place.machine, Reason: err.Error()}
			return
		}
		h.compiled = compile(p, h.network, h.link, h.profile.valid())
		h.compiled.sum = h.profile.sum
		h.application.Store(h.compiled.Application)
	})
	e := h.compiled
	e.Warnings = slices.Concat(h.warnings, e.Warnings)
	return e
}

// BrokenProfile is implemented by the error of a profile that could not be read.
type BrokenProfile interface {
	error
	// Profile returns the application and the machine that the profile is of.
	Profile() (application, machine string)
}

// New returns an Advisor of profiles, which must not change afterward. Lookups report
// the faults of invalid ones. broken are the errors of profiles that could not be read;
// lookups also report those that are a BrokenProfile.
func New(applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile, broken ...error) *Advisor {
	return (&Advisor{}).Next(applications, machines, broken...)
}

// NewOf is New for profiles that are read when they are needed. One that cannot be read
// then is invalid.
func NewOf(applications []*Profile, machines []*v1alpha1.MachineProfile, broken ...error) *Advisor {
	return (&Advisor{}).next(applications, machines, broken)
}

// Next is New, but keeps what a computed from the same objects, except what was transferred
// from another machine.
func (a *Advisor) Next(applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile, broken ...error) *Advisor {
	profiles := make([]*Profile, len(applications))
	for i, p := range applications {
		profiles[i] = a.profile(p)
	}
	return a.next(profiles, machines, broken)
}

// profile returns the Profile of p, that of a where a has the same object.
func (a *Advisor) profile(p *v1alpha1.ApplicationProfile) *Profile {
	if old := a.applications[v1alpha1.ApplicationOf(p)][p.Spec.Machine.Name].member; old != nil && old.profile.given == p {
		return old.profile
	}
	return profileOf(p)
}

func (a *Advisor) next(applications []*Profile, machines []*v1alpha1.MachineProfile, broken []error) *Advisor {
	next := &Advisor{
		applications: make(map[string]map[string]holding, len(applications)),
		machines:     make(map[string]*v1alpha1.MachineProfile, len(machines)),
		networks:     make(map[string]*communication.Machine, len(machines)),
		sharedCaches: map[string][]cpuset.CPUSet{},
		invalid:      map[string]string{},
		broken:       slices.Clone(broken),
		transferred:  &sync.Map{},
	}
	for _, m := range machines {
		if err := next.addMachine(m); err != nil {
			next.broken = append(next.broken, err)
		}
	}
	next.calibrations = a.calibrations.next(applications, next.links(), next.caches())
	for _, p := range applications {
		next.add(a.member(p, next))
	}
	next.calibrations.forget(next.compiled())
	for _, err := range broken {
		if fault, ok := errors.AsType[BrokenProfile](err); ok {
			next.addBroken(fault)
		}
	}
	return next
}

// compiled returns the applications that members were compiled to so far.
func (a *Advisor) compiled() map[*predictor.Application]bool {
	all := map[*predictor.Application]bool{}
	for _, byMachine := range a.applications {
		for _, h := range byMachine {
			if app := h.application.Load(); app != nil {
				all[app] = true
			}
		}
	}
	return all
}

// FittedTo returns an Advisor of the same profiles that fits the models of memories to
// those of the named applications alone, for cross-validation.
func (a *Advisor) FittedTo(applications []string) *Advisor {
	var some []*Profile
	for _, name := range applications {
		for _, h := range sortedValues(a.applications[name]) {
			some = append(some, h.profile)
		}
	}
	fitted := *a
	fitted.calibrations = (*calibrations)(nil).next(some, a.links(), a.caches())
	return &fitted
}

// links returns how co-runners reach the memory, by machine.
func (a *Advisor) links() map[string]memory.Link {
	links := make(map[string]memory.Link, len(a.machines))
	for name := range a.machines {
		links[name] = a.linkOf(name)
	}
	return links
}

// caches returns the last-level caches that several cores share, by machine: those of a
// NUMA node, on which applications meet.
func (a *Advisor) caches() map[string]predictor.LastLevel {
	caches := map[string]predictor.LastLevel{}
	for name, m := range a.machines {
		if c := m.Spec.SharedCache; c != nil {
			caches[name] = predictor.LastLevel{Bytes: c.Bytes, Count: max(len(c.CPUs)/m.Spec.NUMANodes, 1)}
		}
	}
	return caches
}

// linkOf returns how co-runners reach the memory of a machine.
func (a *Advisor) linkOf(machine string) memory.Link {
	if m := a.machines[machine]; m != nil {
		return memory.Link(m.Spec.CorunnerLink())
	}
	return memory.LinkUnknown
}

// addMachine adds the profile of a machine. An invalid one is left out; of one whose
// network or bus no model takes, only these are. The error says so.
func (a *Advisor) addMachine(m *v1alpha1.MachineProfile) error {
	if err := m.Validate().ToAggregate(); err != nil {
		a.invalid[m.Name] = err.Error()
		return fmt.Errorf("machine %s: %w: the profile is not used", m.Name, err)
	}
	a.machines[m.Name] = m
	if caches := sharedCaches(m); caches != nil {
		a.sharedCaches[m.Name] = caches
	}
	network, err := communication.NewMachine(m)
	if err != nil {
		return fmt.Errorf("%w: network and busSharing of the profile are not used", err)
	}
	a.networks[m.Name] = network
	return nil
}

// member returns that of p for next, from a where a has the same profile.
func (a *Advisor) member(p *Profile, next *Advisor) *member {
	machine := p.place.machine
	old := a.applications[p.application][machine].member
	link := next.linkOf(machine)
	sameNetwork := !p.communicates || a.machines[machine] == next.machines[machine]
	if old != nil && old.profile.same(p) && sameNetwork && old.link == link {
		return old
	}
	return &member{profile: p, network: next.networks[machine], link: link}
}

// add adds a profile. Of several for one application and machine, the first in the order
// of Profile.precedes is used.
func (a *Advisor) add(m *member) {
	name, machine := m.profile.application, m.profile.place.machine
	if a.applications[name] == nil {
		a.applications[name] = make(map[string]holding, 1)
	}
	other, several := a.applications[name][machine]
	if !several {
		a.applications[name][machine] = holding{member: m}
		return
	}
	better, worse := m, other.member
	if worse.profile.precedes(better.profile) {
		better, worse = worse, better
	}
	why := "the newer or the first by name"
	if !worse.profile.valid() {
		why = "the other is invalid"
	}
	a.applications[name][machine] = holding{better, append(slices.Clone(other.warnings), fmt.Sprintf(
		"profiles %s and %s are of the same application on the same machine: %s is used, %s",
		better.profile.name, worse.profile.name, better.profile.name, why))}
}

// addBroken adds a profile that could not be read, unless there is a valid one.
func (a *Advisor) addBroken(fault BrokenProfile) {
	application, machine := fault.Profile()
	if _, sound := a.applications[application][machine]; sound || application == "" || machine == "" {
		return
	}
	p := &v1alpha1.ApplicationProfile{}
	p.Name, p.Spec.Machine.Name = application, machine
	if a.applications[application] == nil {
		a.applications[application] = map[string]holding{}
	}
	a.applications[application][machine] = holding{member: &member{profile: profileOf(p), fault: fault}}
}

// compile returns the entry of p on its own machine, where co-runners reach the memory
// over link. One that is sound need not be validated again.
func compile(p *v1alpha1.ApplicationProfile, network *communication.Machine, link memory.Link, sound bool) Entry {
	e := Entry{Profile: p, Machine: p.Spec.Machine.Name, Measured: measured(p)}
	if !sound {
		if faults := p.Validate(); len(faults) > 0 {
			e.State, e.Reason = Invalid, fmt.Sprintf("profile %s: %v", p.Name, faults.ToAggregate())
			return e
		}
	}
	named := *p
	named.Name = v1alpha1.ApplicationOf(p)
	application, err := predictor.Compile(&named)
	if err != nil {
		e.State, e.Reason = Invalid, err.Error()
		return e
	}
	e.Application, e.State = application.WithMachine(network), Known
	switch d := p.Spec.Distance; {
	case d == nil && link.Distant():
		e.Warnings = []string{assumesNear}
	case d != nil && link == memory.LinkNone && d.CorunnerSolo.Seconds > farther*p.Spec.Solo.Seconds:
		e.Warnings = []string{fmt.Sprintf(contradictsLink, 100*(d.CorunnerSolo.Seconds/p.Spec.Solo.Seconds-1), e.Machine)}
	}
	return e
}

// assumesNear is the warning about a profile that was measured in one role only, on a
// machine where co-runners are farther from the memory than a target.
const assumesNear = "measured in one place only: it is taken to be as fast, and to cause the same traffic, as a target and as a co-runner, which is farther from the memory; onboard it again"

// contradictsLink is the warning about a profile that was measured farther from the memory
// than anyone is by the profile of its machine.
const contradictsLink = "takes %.0f%% longer as a co-runner, and the profile of %s says that everyone is equally near the memory: measure it again with: bandmate machine"

// farther is the ratio of times above which a distance is no noise.
const farther = 1.1

// Broken returns the errors of profiles that could not be read, and of machines' profiles
// that are not used, or not in full. Those of invalid profiles of applications are left to
// lookups.
func (a *Advisor) Broken() []error { return a.broken }

// Len returns the number of pairs of application and machine with a profile.
func (a *Advisor) Len() int {
	n := 0
	for _, byMachine := range a.applications {
		n += len(byMachine)
	}
	return n
}

// Count returns how many of them are in each State. It compiles all of them.
func (a *Advisor) Count() map[State]int {
	counts := map[State]int{}
	for _, byMachine := range a.applications {
		for _, h := range byMachine {
			counts[h.entry().State]++
		}
	}
	return counts
}

// Applications returns the names of all applications with a profile, sorted.
func (a *Advisor) Applications() []string { return slices.Sorted(maps.Keys(a.applications)) }

// Has reports whether there is a profile of an application on any machine.
func (a *Advisor) Has(application string) bool { return len(a.applications[application]) > 0 }

// Machines returns the valid profiles of machines by name, sorted.
func (a *Advisor) Machines() []*v1alpha1.MachineProfile {
	return sortedValues(a.machines)
}

func sortedValues[V any](m map[string]V) []V {
	values := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}
