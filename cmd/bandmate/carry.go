package main

import (
	"errors"
	"fmt"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/transfer"
	"bandmate.dev/bandmate/store"
)

// loadForPrediction returns the profiles of the named applications on a
// machine. What was measured on other machines only is carried over from the
// one measured last that allows it. An empty machine asks for what there is.
func loadForPrediction(s profileSource, names []string, machine string) ([]*v1alpha1.ApplicationProfile, error) {
	var all []*v1alpha1.ApplicationProfile
	for _, name := range names {
		p, err := loadApplication(s, name, machine)
		if machine != "" && (errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous)) {
			p, err = carryOver(s, name, machine, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// carryOver computes the profile that an application would have on a machine;
// notThere is why it has none.
func carryOver(s profileSource, name, machine string, notThere error) (*v1alpha1.ApplicationProfile, error) {
	profiles, _, err := s.Applications()
	if err != nil {
		return nil, err
	}
	to, err := s.Machine(machine)
	if err != nil {
		return nil, fmt.Errorf("%w; nor can it be carried over: measure that machine with: bandmate machine --name %s", notThere, machine)
	}
	slices.SortStableFunc(profiles, func(a, b *v1alpha1.ApplicationProfile) int {
		return b.Spec.Measurement.Time.Compare(a.Spec.Measurement.Time.Time)
	})
	var faults []error
	for _, p := range profiles {
		if p.Name != name {
			continue
		}
		from, err := s.Machine(p.Spec.Machine.Name)
		if err != nil {
			faults = append(faults, fmt.Errorf("carrying %s over from %s: %w: measure it there with: bandmate machine", name, p.Spec.Machine.Name, err))
			continue
		}
		carried, err := transfer.Carry(p, from, to)
		if err == nil {
			return carried, nil
		}
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		return nil, notThere
	}
	return nil, errors.Join(faults...)
}

// carriedWarnings say which profiles were not measured where they are used, and
// what may be doubted about them.
func carriedWarnings(profiles []*v1alpha1.ApplicationProfile) []string {
	var warnings []string
	for _, p := range profiles {
		if p.Spec.Carried == nil {
			continue
		}
		for _, w := range p.Spec.Warnings {
			// An application may stand beside itself.
			if w = p.Name + ": " + w; !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings
}
