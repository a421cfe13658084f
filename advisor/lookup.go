package advisor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/transfer"
)

type carriedKey struct{ application, machine string }

// carried is computed when first asked for.
type carried struct {
	once  sync.Once
	entry Entry
}

// Lookup returns what is known of an application on a machine.
//
// A profile measured on the machine serves as it is; else one of another
// machine is carried over, if both machines have profiles. An empty machine is
// one that nobody named: where the application was measured on a single machine,
// that profile serves, with a warning.
//
// Where there is a model of the machine's memory that describes the application,
// the entry predicts by it. Whoever asks first waits for the fit: some tenths of a
// second for a machine, some milliseconds for an application.
func (r *Advisor) Lookup(application, machine string) Entry {
	return r.describe(application, r.LookupCurves(application, machine))
}

// describe returns an entry of an application as the model of the memory describes
// it, where there is one.
func (r *Advisor) describe(application string, e Entry) Entry {
	if e.State == Known {
		// Whatever is in the way: the curves then serve alone.
		e.Application, _ = r.calibrations.Apply(r.applications[application][e.Machine].profile, e.Application)
	}
	return e
}

// LookupCurves is Lookup for those who cannot wait for a fit: what it returns
// predicts from curves alone.
func (r *Advisor) LookupCurves(application, machine string) Entry {
	byMachine := r.applications[application]
	switch {
	case application == "":
		return Entry{State: Unknown, Reason: "no application is named"}
	case len(byMachine) == 0:
		return Entry{State: Unknown, Reason: fmt.Sprintf("no profile of %s: onboard it", application)}
	case machine == "":
		return unnamed(application, byMachine)
	}
	if m := byMachine[machine]; m != nil {
		return m.entry
	}
	return r.carryOver(application, machine)
}

// unnamed returns the entry for a machine without a name.
func unnamed(application string, byMachine map[string]*member) Entry {
	machines := slices.Sorted(maps.Keys(byMachine))
	if len(machines) > 1 {
		return Entry{State: Unknown, Reason: fmt.Sprintf(
			"%s has profiles of the machines %s, and it is not said which one this is: label the node %s",
			application, strings.Join(machines, ", "), v1alpha1.MachineLabel)}
	}
	e := byMachine[machines[0]].entry
	e.Warnings = append(slices.Clone(e.Warnings), fmt.Sprintf("the machine has no name: it is taken to be a %s", machines[0]))
	return e
}

func (r *Advisor) carryOver(application, machine string) Entry {
	to := r.machines[machine]
	if to == nil {
		return Entry{State: Unknown, Reason: r.noMachine(application, machine)}
	}
	key := carriedKey{application, machine}
	value, ok := r.carried.Load(key)
	if !ok {
		value, _ = r.carried.LoadOrStore(key, &carried{})
	}
	c := value.(*carried) //nolint:errcheck,forcetypeassert // nothing else is stored
	c.once.Do(func() { c.entry = r.carryTo(application, to) })
	return c.entry
}

// noMachine says why nothing can be carried to a machine without a profile.
func (r *Advisor) noMachine(application, machine string) string {
	from := strings.Join(slices.Sorted(maps.Keys(r.applications[application])), ", ")
	why := "and it has no profile: measure it with bandmate machine"
	if fault, ok := r.invalid[machine]; ok {
		why = "whose profile is invalid: " + fault
	}
	return fmt.Sprintf("%s was measured on %s, not on %s, %s", application, from, machine, why)
}

// carryTo tries the machines that the application was measured on, the latest
// measurement first.
func (r *Advisor) carryTo(application string, to *v1alpha1.MachineProfile) Entry {
	members := slices.SortedFunc(maps.Values(r.applications[application]), func(a, b *member) int {
		return cmp.Or(b.entry.Measured.Compare(a.entry.Measured), cmp.Compare(a.entry.Machine, b.entry.Machine))
	})
	var reasons []string
	for _, m := range members {
		from := r.machines[m.entry.Machine]
		switch {
		case m.entry.State == Invalid:
			reasons = append(reasons, m.entry.Reason)
			continue
		case from == nil:
			reasons = append(reasons, fmt.Sprintf("measured on %s, of which there is no sound profile", m.entry.Machine))
			continue
		}
		p, err := transfer.Carry(m.profile, from, to)
		if err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		e := compile(p).on(r.networks[to.Name])
		if e.State == Invalid {
			reasons = append(reasons, e.Reason)
			continue
		}
		e.State, e.Machine, e.Measured = CarriedOver, m.entry.Machine, m.entry.Measured
		e.Reason = fmt.Sprintf("measured on %s and carried over to %s", m.entry.Machine, to.Name)
		e.Warnings = append(e.Warnings, m.entry.Warnings...)
		return e
	}
	return Entry{State: Unknown, Reason: fmt.Sprintf("%s on %s: %s", application, to.Name, strings.Join(reasons, "; "))}
}
