package onboard

import (
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/topology"
)

// The last-level cache of a processor of which the kernel lists two levels, as of many Arm
// servers, is unknown.
func TestLastLevelCacheOfProfile(t *testing.T) {
	for level, want := range map[int]int64{2: 0, 3: 1 << 20} {
		m := &topology.Machine{Nodes: []topology.Node{{MemoryBytes: 1 << 30}}}
		for id := range 2 {
			m.CPUs = append(m.CPUs, topology.CPU{ID: id, Core: id})
			m.Caches = append(m.Caches, topology.Cache{Level: level, Type: "Unified", Bytes: 1 << 20, CPUs: cpuset.New(id)})
		}
		s := &bench.Session{Machine: m, Placement: topology.Placement{Target: cpuset.New(0), Interferer: cpuset.New(1)}}
		if got := newMachineProfile(s, MachineOptions{Name: "m"}, circumstances{}).Spec.LastLevelCacheBytes; got != want {
			t.Errorf("level %d: %d bytes, want %d", level, got, want)
		}
	}
}

// A machine is measured by one interferer, however many a session has.
func TestMeasurementOfAMachine(t *testing.T) {
	session := openSession(t, bench.Placing{})
	m := measurement(session, circumstances{}, "")
	if m.InterfererCPUs != session.Placement.Interferer.String() || m.Interferers != 0 {
		t.Errorf("%+v", m)
	}
}
