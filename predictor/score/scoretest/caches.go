package scoretest

import (
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// The application that loses most by a cache that it shares, and the one beside which it
// does.
const (
	CacheLoser = "read0l"
	CacheTaker = "loop1l"
)

// SharedCaches returns an advisor of the profiles of CacheProfiles.
func SharedCaches(d *evaluation.Dataset, machine string, cpus ...string) (*advisor.Advisor, error) {
	profiles, m, err := CacheProfiles(d, evaluation.Options{}, machine, cpus...)
	if err != nil {
		return nil, err
	}
	return advisor.New(profiles, []*v1alpha1.MachineProfile{m}), nil
}

// CacheProfiles returns profiles of five applications and that of a machine of this name with
// one NUMA node, on which these CPUs share last-level caches. The applications are those of
// llc-ddr4x2 in predictor/testdata/simulated, with these points of their curves.
func CacheProfiles(d *evaluation.Dataset, points evaluation.Options, machine string, cpus ...string) ([]*v1alpha1.ApplicationProfile, *v1alpha1.MachineProfile, error) {
	profiles, m, err := d.Profiles(points)
	if err != nil {
		return nil, nil, err
	}
	const some = 5 // enough to fit a model to
	profiles = profiles[:some]
	m.Name, m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = machine, 1, 1, 0
	m.Spec.SharedCache.CPUs = cpus
	for _, list := range cpus {
		set, err := cpuset.Parse(list)
		if err != nil {
			return nil, nil, err
		}
		m.Spec.CPUs += set.Size()
	}
	for _, p := range profiles {
		p.Spec.Machine.Name = machine
	}
	return profiles, m, nil
}
