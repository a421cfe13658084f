package advisor

import (
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// SharedCaches returns the CPUs of each last-level cache of a machine that several
// cores share, in the order of the machine's profile. It is nil where no NUMA node has
// several, where the profile does not say which CPUs share them, and above
// predictor.MostCaches. The caller must not change it.
func (a *Advisor) SharedCaches(machine string) []cpuset.CPUSet { return a.sharedCaches[machine] }

// mostDigits bounds the numbers of CPUs, and mostCPUs how many CPUs the lists of a machine
// name, repeats included: a short list could fill the memory or take minutes.
const mostDigits, mostCPUs = 4, 20_000

func sharedCaches(m *v1alpha1.MachineProfile) []cpuset.CPUSet {
	if m.Spec.SharedCache == nil {
		return nil
	}
	lists := m.Spec.SharedCache.CPUs
	if len(lists) > predictor.MostCaches || len(lists) < 2*m.Spec.NUMANodes {
		return nil
	}
	caches, total := make([]cpuset.CPUSet, len(lists)), 0
	for i, list := range lists {
		for number := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '-' }) {
			if len(number) > mostDigits {
				return nil
			}
		}
		if total += v1alpha1.CountCPUs(list); total > mostCPUs {
			return nil
		}
		var err error
		if caches[i], err = cpuset.Parse(list); err != nil || caches[i].IsEmpty() {
			return nil
		}
	}
	return caches
}
