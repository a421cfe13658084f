package onboard

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// MachineOptions says how a machine is measured.
type MachineOptions struct {
	// Name becomes the profile's metadata.name.
	Name string
	// ReadShares at which the sustained bandwidth is measured.
	ReadShares []units.ReadShare
	// ProbeGrid holds the known pressures beside which the probes are calibrated.
	ProbeGrid []pressure.Pressure
	// Precision of each point.
	Precision modulation.Precision
	// Report is told the share of the work that is done, 0 to 1, and what runs
	// now; may be nil.
	Report  func(share float64, what string)
	Version string
}

// MeasureMachine measures the sustained bandwidth of every read share and
// calibrates the probes, all in one regime.
func MeasureMachine(ctx context.Context, s *bench.Session, o MachineOptions) (profile *v1alpha1.MachineProfile, err error) {
	g, err := s.OpenStage(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return measureMachine(ctx, g, o)
}

// AddProbeMap returns the machine's profile with the probes calibrated in a
// regime, for which it waits; an empty class means whichever lasts.
func AddProbeMap(ctx context.Context, s *bench.Session, machine *v1alpha1.MachineProfile, o MachineOptions, class regime.Class) (added *v1alpha1.MachineProfile, err error) {
	g, err := s.OpenStage(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return addProbes(ctx, g, machine, o, class)
}

// newMachineProfile returns a profile without measurements.
func newMachineProfile(s *bench.Session, want MachineOptions, c circumstances) *v1alpha1.MachineProfile {
	profile := &v1alpha1.MachineProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindMachineProfile},
		ObjectMeta: metav1.ObjectMeta{Name: want.Name},
		Spec: v1alpha1.MachineProfileSpec{
			CPUModel:       s.Machine.CPUModel,
			Sockets:        s.Machine.Sockets(),
			NUMANodes:      len(s.Machine.Nodes),
			CPUs:           s.Machine.Online().Size(),
			MemoryBytes:    s.Machine.MemoryBytes,
			VirtualMachine: s.Machine.VirtualMachine,
			Measurement:    measurement(s, c, want.Version),
			Link:           string(s.Machine.Link(s.Placement)),
			Warnings:       s.Warnings(),
		},
	}
	if bytes, ok := s.Machine.LastLevelCacheBytes(cpuset.New(s.Placement.Interferer.List()[0])); ok {
		profile.Spec.LastLevelCacheBytes = bytes
	}
	profile.Spec.SharedCache = sharedCache(s.Machine)
	return profile
}

// sharedCache returns what a profile says of the caches that several cores share; nil
// without any, and where they differ in size.
func sharedCache(m *topology.Machine) *v1alpha1.SharedCache {
	caches := m.SharedCaches(m.Online())
	if len(caches) == 0 {
		return nil
	}
	shared := &v1alpha1.SharedCache{Bytes: caches[0].Bytes}
	for _, c := range caches {
		if c.Bytes != shared.Bytes {
			return nil
		}
		shared.CPUs = append(shared.CPUs, c.CPUs.String())
	}
	return shared
}
