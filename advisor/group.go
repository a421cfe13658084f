package advisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Choose returns the entries of applications on a machine, in order. An empty machine
// means the only one that each was measured on. The error is [Entry.Err] of the first
// unusable entry. The entries predict from curves alone: see Group.
func (a *Advisor) Choose(names []string, machine string) ([]Entry, error) {
	entries := make([]Entry, len(names))
	for i, name := range names {
		e := a.choose(name, machine)
		if err := e.Err(); err != nil {
			return nil, err
		}
		entries[i] = e
	}
	return entries, nil
}

func (a *Advisor) choose(name, machine string) Entry {
	byMachine := a.applications[name]
	switch {
	case len(byMachine) == 0:
		reason := fmt.Sprintf("application %q: %v", name, v1alpha1.ErrNotFound)
		if application, at, isName := strings.Cut(name, "@"); isName && a.Has(application) { // see Names
			reason += fmt.Sprintf(": did you mean %s, with %s as the machine?", application, at)
		} else if near := v1alpha1.NearNames(name, a.Applications()); len(near) > 0 {
			reason += fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
		}
		return Entry{State: Unknown, Reason: reason, cause: v1alpha1.ErrNotFound}
	case machine == "" && len(byMachine) > 1:
		reason := ambiguous(name, slices.Collect(maps.Keys(byMachine))).Error()
		return Entry{State: Unknown, cause: v1alpha1.ErrAmbiguous, Reason: reason}
	case machine == "":
		machine = slices.Collect(maps.Keys(byMachine))[0]
	}
	return a.LookupCurves(name, machine)
}

// Select is Choose for names. Without names it returns the entries of all valid profiles
// measured on the machine, or on any if machine is empty, sorted by name and machine, and
// the faults of invalid ones. It fails if no application was measured on the machine.
func (a *Advisor) Select(names []string, machine string) (entries []Entry, faults []error, err error) {
	if len(names) > 0 {
		entries, err = a.Choose(names, machine)
		return entries, nil, err
	}
	entries, faults = a.all(machine)
	if machine != "" && len(entries)+len(faults) == 0 {
		return nil, nil, fmt.Errorf("machine %q: %w: no application was measured there", machine, v1alpha1.ErrNotFound)
	}
	return entries, faults, nil
}

func (a *Advisor) all(machine string) (entries []Entry, faults []error) {
	var all []holding
	for _, name := range a.Applications() {
		for _, h := range sortedValues(a.applications[name]) {
			if h.fault == nil && (machine == "" || h.profile.place.machine == machine) {
				all = append(all, h)
			}
		}
	}
	compiled := make([]Entry, len(all))
	parallel.Each(len(all), func(i int) { compiled[i] = all[i].entry() })
	for _, e := range compiled {
		if err := e.Err(); err != nil {
			faults = append(faults, fmt.Errorf("left out: %w", err))
			continue
		}
		entries = append(entries, e)
	}
	return entries, faults
}

// Names returns the name of the application of each entry, as NAME@MACHINE where there are
// entries of it for several machines.
func Names(entries []Entry) []string {
	machines := map[string]string{}
	several := map[string]bool{}
	for _, e := range entries {
		name, machine := e.Application.Name(), e.Profile.Spec.Machine.Name
		if first, ok := machines[name]; ok && first != machine {
			several[name] = true
		}
		machines[name] = machine
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Application.Name()
		if several[names[i]] {
			names[i] += "@" + e.Profile.Spec.Machine.Name
		}
	}
	return names
}

// OneEach fails with v1alpha1.ErrAmbiguous where there are entries of an application for
// several machines: it runs on one of them only.
func OneEach(entries []Entry) error {
	for i, name := range Names(entries) {
		application := entries[i].Application.Name()
		if name == application {
			continue
		}
		var machines []string
		for _, e := range entries {
			if e.Application.Name() == application {
				machines = append(machines, e.Profile.Spec.Machine.Name)
			}
		}
		return ambiguous(application, machines)
	}
	return nil
}

func ambiguous(application string, machines []string) error {
	slices.Sort(machines)
	return fmt.Errorf("application %q: %w: choose one of %s", application, v1alpha1.ErrAmbiguous, strings.Join(machines, ", "))
}

// Group is applications that are predicted beside each other by one method.
type Group struct {
	Method  predictor.Method
	Entries []Entry

	advisor *Advisor
}

// Group returns a group of entries of a. For the default method the entries are
// calibrated to the model of their machine's memory, if there is one. The error is that of
// ctx.
func (a *Advisor) Group(ctx context.Context, entries []Entry, m predictor.Method) (*Group, error) {
	g := &Group{m, slices.Clone(entries), a}
	if m != predictor.Default {
		return g, nil
	}
	calibrated := make(chan error, 1)
	go func() {
		calibrated <- parallel.EachWith(ctx, len(entries), func() func(int) {
			return func(i int) { g.Entries[i] = a.calibrated(entries[i]) }
		})
	}()
	select {
	case err := <-calibrated:
		return g, err
	case <-ctx.Done(): // a fit that has begun goes on: others may wait for it, too
		return nil, ctx.Err()
	}
}

// Applications returns those of the entries.
func (g *Group) Applications() []*predictor.Application {
	applications := make([]*predictor.Application, len(g.Entries))
	for i, e := range g.Entries {
		applications[i] = e.Application
	}
	return applications
}

// Profiles returns those of the entries.
func (g *Group) Profiles() []*v1alpha1.ApplicationProfile {
	profiles := make([]*v1alpha1.ApplicationProfile, len(g.Entries))
	for i, e := range g.Entries {
		profiles[i] = e.Profile
	}
	return profiles
}

// Predict predicts member number target beside all others. It fails as
// predictor.Predict does.
func (g *Group) Predict(target int, explain bool) (predictor.Prediction, error) {
	all := g.Applications()
	others := slices.Delete(slices.Clone(all), target, target+1)
	p, err := predictor.Predict(all[target], others, predictor.Options{Method: g.Method, Explain: explain})
	if err != nil {
		return p, err
	}
	p.Warnings = append(p.Warnings, Warnings(g.Entries)...)
	return p, nil
}

// Slowdowns returns the slowdown of every member beside every one of others: element
// [i][j] is that of member i beside others[j]. An application beside itself meets a second
// instance. Unknown slowdowns are NaN; the error gives the reasons and wraps
// predictor.ErrNoCurves or predictor.ErrNoContentiousness.
func (g *Group) Slowdowns(ctx context.Context, others *Group) ([][]units.Slowdown, error) {
	targets, corunners := g.Applications(), others.Applications()
	slowdowns, faults := make([][]units.Slowdown, len(targets)), make([]error, len(targets))
	err := parallel.EachWith(ctx, len(targets), func() func(int) {
		var workspace predictor.Workspace
		return func(i int) {
			slowdowns[i] = make([]units.Slowdown, len(corunners))
			for j, corunner := range corunners {
				var err error
				if slowdowns[i][j], err = pair(&workspace, targets[i], corunner, g.Method); err != nil {
					slowdowns[i][j] = units.Slowdown(math.NaN())
					if faults[i] == nil {
						faults[i] = err
					}
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return slowdowns, errors.Join(distinct(faults)...)
}

// distinct returns the faults, those of one text once: a co-runner is one of every target.
func distinct(faults []error) []error {
	var all []error
	seen := map[string]bool{}
	for _, fault := range faults {
		if fault != nil && !seen[fault.Error()] {
			all = append(all, fault)
			seen[fault.Error()] = true
		}
	}
	return all
}

// pair predicts a target beside one co-runner. The workspace would take missing curves
// and traffic for none, so Predict is used there.
func pair(workspace *predictor.Workspace, target, corunner *predictor.Application, m predictor.Method) (units.Slowdown, error) {
	both := []*predictor.Application{target, corunner}
	sensitive, _ := target.Known()
	_, contentious := corunner.Known()
	if m == predictor.Default && sensitive && contentious {
		var performances [2]units.NormalizedPerformance
		return workspace.Performances(performances[:0], both)[0].Slowdown(), nil
	}
	p, err := predictor.Predict(target, both[1:], predictor.Options{Method: m})
	return p.Slowdown, err
}

// Warnings returns warnings about transferred profiles, and about profiles measured under
// incompatible conditions.
func Warnings(entries []Entry) []string {
	var warnings []string
	machines, regimes := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		spec := &e.Profile.Spec
		machines[spec.Machine.Name] = true
		if r := spec.Measurement.Regime; r != nil {
			regimes[r.Name] = true
		}
		doubts := e.Warnings
		if e.State == Transferred {
			doubts = slices.Concat(spec.Warnings, doubts)
		}
		for _, w := range doubts {
			// An application may stand beside itself.
			if w = e.Application.Name() + ": " + w; !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	if len(machines) > 1 {
		warnings = append(warnings, fmt.Sprintf("profiles of different machines (%s): onboard all of them on one", strings.Join(slices.Sorted(maps.Keys(machines)), ", ")))
	}
	if len(regimes) > 1 {
		warnings = append(warnings, fmt.Sprintf("profiles of different placements of the CPUs (%s): the prediction holds for neither; onboard again the ones that differ", strings.Join(slices.Sorted(maps.Keys(regimes)), ", ")))
	}
	return warnings
}
