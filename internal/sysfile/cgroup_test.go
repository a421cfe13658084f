package sysfile

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestCgroups(t *testing.T) {
	proc := fstest.MapFS{
		"self/cgroup": {Data: []byte("9:name=systemd:/\n4:memory:/j\n2:cpu,cpuacct:/k/l\n0::/../a/b\nnonsense\n")},
	}
	v2 := []Cgroup{{"fs/cgroup/a/b", 2}, {"fs/cgroup/a", 2}, {"fs/cgroup", 2}}
	for controller, v1 := range map[string][]Cgroup{
		"memory": {{"fs/cgroup/memory/j", 1}, {"fs/cgroup/memory", 1}},
		"cpu":    {{"fs/cgroup/cpu/k/l", 1}, {"fs/cgroup/cpu/k", 1}, {"fs/cgroup/cpu", 1}},
		"io":     nil,
	} {
		if got, want := Cgroups(proc, "self", controller), slices.Concat(v1, v2); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", controller, got, want)
		}
	}
	if got := Cgroups(proc, "7", "cpu"); got != nil {
		t.Errorf("no such process: %v", got)
	}
}
