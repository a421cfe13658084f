package measure

import (
	"slices"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

func TestRatesOf(t *testing.T) {
	const mebi = 1 << 20
	known := &topology.Machine{
		Nodes: []topology.Node{{}},
		CPUs:  []topology.CPU{{ID: 0, Core: 0}, {ID: 1, Core: 1}},
		Caches: []topology.Cache{
			{Level: 2, Type: "Unified", Bytes: mebi, CPUs: cpuset.New(0)},
			{Level: 2, Type: "Unified", Bytes: mebi, CPUs: cpuset.New(1)},
			{Level: 3, Type: "Unified", Bytes: 32 * mebi, CPUs: cpuset.New(0, 1)},
		},
	}
	for _, test := range []struct {
		name      string
		machine   *topology.Machine
		cpus      cpuset.CPUSet
		footprint int64
		want      int64 // the set in the caches
	}{
		{"as large as the cache", known, cpuset.New(1), 32 * mebi, 4 * mebi},
		{"on two CPUs", known, cpuset.New(0, 1), 16 * mebi, 2 * mebi},
		{"small", known, cpuset.New(1), mebi / 2, mebi / 2},
		{"unknown caches", &topology.Machine{}, cpuset.New(1), 32 * mebi, 32 * mebi},
	} {
		var asked []int64
		memory, resident, err := ratesOf(test.machine, test.cpus, test.footprint, func(footprint int64) (units.Bandwidth, error) {
			asked = append(asked, footprint)
			return units.Bandwidth(len(asked)), nil
		})
		if want := []int64{0, test.want}; !slices.Equal(asked, want) || memory != 1 || resident != 2 || err != nil {
			t.Errorf("%s: footprints %v, want %v; %v, %v, %v", test.name, asked, want, memory, resident, err)
		}
	}
}
