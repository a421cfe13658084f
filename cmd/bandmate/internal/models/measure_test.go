package models

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/overlap/measure"
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

func TestOverride(t *testing.T) {
	machine := &topology.Machine{CPUs: []topology.CPU{{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}, {ID: 4, Core: 3}}}
	two := measure.Cores{Computing: []int{0}, Receiver: 1, Sender: 1, Warnings: []string{"CPU 1 sends and receives"}}
	four := measure.Cores{Computing: []int{0, 1}, Receiver: 3, Sender: 2}
	for _, test := range []struct {
		name  string
		c     measure.Cores
		flags sweepFlags
		want  measure.Cores
	}{
		{"two CPUs the other way around", two, sweepFlags{receiver: 0, sender: -1}, measure.Cores{Computing: []int{1}, Receiver: 0, Sender: 0}},
		{"another receiver", four, sweepFlags{receiver: 0, sender: -1}, measure.Cores{Computing: []int{1, 3}, Receiver: 0, Sender: 2}},
		{"the other thread of the receiver's core", four, sweepFlags{receiver: 4, sender: -1}, measure.Cores{Computing: []int{0, 1}, Receiver: 4, Sender: 2}},
		{"another sender", four, sweepFlags{receiver: -1, sender: 1}, measure.Cores{Computing: []int{0}, Receiver: 3, Sender: 1}},
		{"given computing CPUs", four, sweepFlags{cpus: "1", receiver: 0, sender: -1}, measure.Cores{Computing: []int{1}, Receiver: 0, Sender: 2}},
	} {
		c := test.c
		err := test.flags.override(&c, machine)
		if err != nil || !slices.Equal(c.Computing, test.want.Computing) || c.Receiver != test.want.Receiver || c.Sender != test.want.Sender {
			t.Errorf("%s: %+v, %v; want %+v", test.name, c, err, test.want)
		}
	}
	for want, flags := range map[string]sweepFlags{
		"--cpus 4-5: want CPUs that are online, 0-4":   {cpus: "4-5", receiver: -1, sender: -1},
		"--receiver 5: want a CPU that is online, 0-4": {receiver: 5, sender: -1},
		"--sender 5: want a CPU that is online, 0-4":   {receiver: -1, sender: 5},
	} {
		if err := flags.override(&measure.Cores{}, machine); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
