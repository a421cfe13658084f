package advisor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/transfer"
)

// Lookup returns the entry of an application on a machine.
//
// A profile measured on the machine is used as it is; else the latest of another machine
// is transferred, if both machines have profiles. An empty machine is unknown: if the
// application was measured on a single machine, that profile is used, with a warning.
//
// The entry is calibrated to the model of the machine's memory, if there is one. The
// first call waits for the fit: some tenths of a second for a machine, some milliseconds
// for an application.
func (a *Advisor) Lookup(application, machine string) Entry {
	return a.calibrated(a.LookupCurves(application, machine))
}

// LookupCurves is Lookup without calibration: it does not wait for a fit, and the entry
// predicts from curves alone.
func (a *Advisor) LookupCurves(application, machine string) Entry {
	byMachine := a.applications[application]
	switch {
	case application == "":
		return Entry{State: Unknown, Reason: "no application is named"}
	case len(byMachine) == 0:
		return Entry{State: Unknown, Reason: fmt.Sprintf("no profile of %s: onboard it", application), cause: v1alpha1.ErrNotFound}
	case machine == "":
		return unnamed(application, byMachine)
	}
	if h, ok := byMachine[machine]; ok {
		return h.entry()
	}
	return a.transfer(application, machine)
}

// Own returns every entry of an application on the machines it was measured on,
// by machine name; nil without any. The map may be changed.
func (a *Advisor) Own(application string) map[string]Entry {
	var entries map[string]Entry
	for machine, h := range a.applications[application] {
		if entries == nil {
			entries = map[string]Entry{}
		}
		entries[machine] = a.calibrated(h.entry())
	}
	return entries
}

// unnamed returns the entry for a machine without a name.
func unnamed(application string, byMachine map[string]holding) Entry {
	machines := slices.Sorted(maps.Keys(byMachine))
	if len(machines) > 1 {
		return Entry{State: Unknown, cause: v1alpha1.ErrAmbiguous, Reason: fmt.Sprintf(
			"%s has profiles of the machines %s, and it is not said which one this is: label the node %s",
			application, strings.Join(machines, ", "), v1alpha1.MachineLabel)}
	}
	e := byMachine[machines[0]].entry()
	e.Warnings = append(slices.Clone(e.Warnings), fmt.Sprintf("the machine has no name: it is taken to be a %s", machines[0]))
	return e
}

type transferKey struct{ application, machine string }

// transferred is computed when first asked for.
type transferred struct {
	once  sync.Once
	entry Entry
}

func (a *Advisor) transfer(application, machine string) Entry {
	to := a.machines[machine]
	if to == nil {
		return Entry{State: Unknown, Reason: a.noMachine(application, machine), cause: v1alpha1.ErrNotFound}
	}
	key := transferKey{application, machine}
	value, ok := a.transferred.Load(key)
	if !ok {
		value, _ = a.transferred.LoadOrStore(key, &transferred{})
	}
	t := value.(*transferred) //nolint:errcheck,forcetypeassert // nothing else is stored
	t.once.Do(func() { t.entry = a.transferTo(application, to) })
	return t.entry
}

// noMachine says why nothing can be transferred to a machine without a profile.
func (a *Advisor) noMachine(application, machine string) string {
	from := strings.Join(slices.Sorted(maps.Keys(a.applications[application])), ", ")
	return fmt.Sprintf("%s was measured on %s, not on %s, %s", application, from, machine, a.lacking(machine))
}

// lacking says what is wrong with the profile of a machine.
func (a *Advisor) lacking(machine string) string {
	if fault, ok := a.invalid[machine]; ok {
		return "whose profile is invalid: " + fault
	}
	return "which has no profile: measure it with: bandmate machine --name " + machine
}

// transferTo tries the machines that the application was measured on, the latest
// measurement first.
func (a *Advisor) transferTo(application string, to *v1alpha1.MachineProfile) Entry {
	candidates := slices.SortedFunc(maps.Values(a.applications[application]), func(a, b holding) int {
		return cmp.Or(b.profile.measured.Compare(a.profile.measured), cmp.Compare(a.profile.place.machine, b.profile.place.machine))
	})
	unknown := Entry{State: Unknown, cause: v1alpha1.ErrNotFound}
	var reasons []string
	refuse := func(reason string) {
		reasons = append(reasons, reason)
		unknown.cause = nil // there is a profile that does not serve
	}
	for _, h := range candidates {
		own := h.entry()
		from := a.machines[own.Machine]
		switch {
		case own.State == Invalid:
			refuse(own.Reason)
			continue
		case from == nil:
			reasons = append(reasons, fmt.Sprintf("measured on %s, %s", own.Machine, a.lacking(own.Machine)))
			continue
		}
		p, err := transfer.Profile(own.Profile, from, to)
		if err != nil {
			refuse(err.Error())
			continue
		}
		e := compile(p, a.networks[to.Name], a.linkOf(to.Name), false)
		if e.State == Invalid {
			refuse(e.Reason)
			continue
		}
		e.State, e.Machine, e.Measured = Transferred, own.Machine, own.Measured
		e.Reason = fmt.Sprintf("measured on %s and transferred to %s", own.Machine, to.Name)
		e.Warnings = slices.Concat(h.warnings, e.Warnings)
		return e
	}
	unknown.Reason = fmt.Sprintf("%s on %s: %s", application, to.Name, strings.Join(reasons, "; "))
	return unknown
}

// measured returns when a profile was measured; zero when it does not say.
func measured(p *v1alpha1.ApplicationProfile) time.Time { return p.Spec.Measurement.Time.Time }
