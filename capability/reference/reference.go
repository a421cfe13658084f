// Package reference holds machine profiles from publications, to try the models of
// package capability on.
package reference

import (
	_ "embed"
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

//go:embed knl.yaml
var knl []byte

// Machines returns the profiles: the Xeon Phi KNL of Ramos and Hoefler (2017) in
// each of its cluster modes, named knl-7210-quadrant and the like. The caller
// owns them.
func Machines() ([]*v1alpha1.MachineProfile, error) {
	objects, err := v1alpha1.DecodeAll(knl)
	if err != nil {
		return nil, fmt.Errorf("built-in machine profiles: %w", err)
	}
	var machines []*v1alpha1.MachineProfile
	for _, o := range objects {
		if m, ok := o.(*v1alpha1.MachineProfile); ok {
			machines = append(machines, m)
		}
	}
	return machines, nil
}

// Machine returns the profile of a name, and whether there is one.
func Machine(name string) (*v1alpha1.MachineProfile, bool, error) {
	machines, err := Machines()
	for _, m := range machines {
		if m.Name == name {
			return m, true, nil
		}
	}
	return nil, false, err
}
