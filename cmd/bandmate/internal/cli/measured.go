package cli

import (
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// machineReadShares are those at which the sustained bandwidth is measured.
var machineReadShares = []units.ReadShare{0.5, 0.6, 0.75, 0.9, 1}

// MachineOptions says how this machine is measured; quick takes fewer points and repeats.
func MachineOptions(name string, quick bool) onboard.MachineOptions {
	return onboard.MachineOptions{
		Name: name, ReadShares: machineReadShares, ProbeGrid: pressure.CalibrationGrid(quick),
		Precision: probePrecision(quick), Version: Version(),
	}
}

func probePrecision(quick bool) modulation.Precision {
	if quick {
		return modulation.Precision{StandardError: 0.008, Fewest: 6, Most: 12}
	}
	return modulation.Precision{StandardError: 0.004, Fewest: 10, Most: 30}
}

// PutMachine stores a measured profile. Sections that only other commands write stay as they
// are in the store.
func PutMachine(folder *store.Store, measured *v1alpha1.MachineProfile) error {
	if known, err := folder.Machine(measured.Name); err == nil {
		measured.Spec.Network, measured.Spec.BusSharing, measured.Spec.Capability = known.Spec.Network, known.Spec.BusSharing, known.Spec.Capability
	}
	if err := folder.Put(measured); err != nil {
		return fmt.Errorf("storing the machine profile: %w", err)
	}
	return nil
}
