package advisor

import (
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
)

// The caches of a machine are known where a NUMA node has several, and nowhere else.
func TestSharedCaches(t *testing.T) {
	for _, test := range []struct {
		name      string
		numaNodes int
		shared    *v1alpha1.SharedCache
		want      int
	}{
		{"several", 1, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{"0-1", "2-3"}}, 2},
		{"several of each NUMA node", 2, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{"0", "1", "2", "3"}}, 4},
		{"one of each NUMA node", 2, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{"0-1", "2-3"}}, 0},
		{"one", 1, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{"0-3"}}, 0},
		{"CPUs that are not known", 1, &v1alpha1.SharedCache{Bytes: 1}, 0},
		{"private ones", 1, nil, 0},
		{"CPUs that no machine has", 1, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{"0-99999", "1"}}, 0},
		{"one CPU many times", 1, &v1alpha1.SharedCache{Bytes: 1, CPUs: []string{strings.Repeat("0-9999,", 1e5) + "0", "1"}}, 0},
		{"too many", 1, &v1alpha1.SharedCache{Bytes: 1, CPUs: slices.Repeat([]string{"0"}, predictor.MostCaches+1)}, 0},
	} {
		m := machine("blade", 40)
		m.Spec.NUMANodes, m.Spec.SharedCache = test.numaNodes, test.shared
		caches := New(nil, []*v1alpha1.MachineProfile{m}).SharedCaches("blade")
		if len(caches) != test.want {
			t.Errorf("%s: %v, want %d", test.name, caches, test.want)
		}
		for i, c := range caches {
			if got := c.String(); got != test.shared.CPUs[i] {
				t.Errorf("%s: cache %d has CPUs %s, want %s", test.name, i, got, test.shared.CPUs[i])
			}
		}
	}
	if caches := New(nil, nil).SharedCaches("blade"); caches != nil {
		t.Errorf("an unknown machine: %v", caches)
	}
}
