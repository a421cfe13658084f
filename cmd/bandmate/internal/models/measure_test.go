package models

import (
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// A container may have far less memory than the machine.
func TestMemorySize(t *testing.T) {
	machine := &topology.Machine{
		MemoryBytes: 256 << 30, CPUs: []topology.CPU{{ID: 0}},
		Caches: []topology.Cache{{Level: 3, Bytes: 96 << 20, CPUs: cpuset.New(0)}},
	}
	for available, want := range map[int64]int64{200 << 30: 768 << 20, 1 << 30: 128 << 20} {
		if got := memorySize(machine, available); got != want {
			t.Errorf("%d MiB of %d MiB available, want %d", got>>20, available>>20, want>>20)
		}
	}
}
