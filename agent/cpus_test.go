package agent_test

import (
	"maps"
	"testing"
	"testing/fstest"

	"bandmate.dev/bandmate/agent"
)

const (
	exclusive = "0d9c8b7a-1111-2222-3333-444455556666"
	fraction  = "0d9c8b7a-1111-2222-3333-444455557777"
	burstable = "0d9c8b7a-1111-2222-3333-444455558888"
)

// groups are control groups of these files.
func groups(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return all
}

// The CPUs of containers are the pods' own where nobody else has them: by either driver and
// version of control groups.
func TestExclusiveCPUs(t *testing.T) {
	systemd := "kubepods.slice/kubepods-pod0d9c8b7a_1111_2222_3333_444455556666.slice/"
	cgroupfs := "cpuset/kubepods/pod" + exclusive + "/"
	for name, test := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"version 2, systemd": {map[string]string{
			"system.slice/cpuset.cpus": "", "kubepods.slice/cpuset.cpus": "", "kubepods.slice/cpuset.cpus.effective": "0-7",
			systemd + "cpuset.cpus":                        "",
			systemd + "cri-containerd-1.scope/cpuset.cpus": "2-3",
			systemd + "cri-containerd-2.scope/cpuset.cpus": "6",
			systemd + "cri-containerd-p.scope/cpuset.cpus": "",
			"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d9c8b7a_1111_2222_3333_444455558888.slice/cri-containerd-3.scope/cpuset.cpus": "0-1,4-5,7",
			"kubepods.slice/kubepods-pod0d9c8b7a_1111_2222_3333_444455557777.slice/cri-containerd-4.scope/cpuset.cpus":                                    "0-1,4-5,7",
		}, map[string]string{exclusive: "2-3,6"}},
		"version 1, cgroupfs": {map[string]string{
			"memory/kubepods/x": "", "cpuset/kubepods/cpuset.cpus": "0-7",
			cgroupfs + "cpuset.cpus":                                             "0-7",
			cgroupfs + "sandbox/cpuset.cpus":                                     "0-7",
			cgroupfs + "one/cpuset.cpus":                                         "4-7",
			"cpuset/kubepods/burstable/pod" + burstable + "/sandbox/cpuset.cpus": "0-7",
			"cpuset/kubepods/burstable/pod" + burstable + "/one/cpuset.cpus":     "0-3",
			"cpuset/kubepods/besteffort/pod" + fraction + "/one/cpuset.cpus":     "0-3",
		}, map[string]string{exclusive: "4-7"}},
		"a folder of the kubelet": {map[string]string{
			"kubelet.slice/kubelet-kubepods.slice/cpuset.cpus.effective":                                                                                "0-3",
			"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0d9c8b7a_1111_2222_3333_444455556666.slice/cri-containerd-1.scope/cpuset.cpus":    "3",
			"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0d9c8b7a_1111_2222_3333_444455557777.slice/cri-containerd-1.scope/memory.current": "3",
		}, map[string]string{exclusive: "3"}},
		"two pods, each on a CPU": {map[string]string{
			"cpuset/kubepods/cpuset.cpus": "0-1", cgroupfs + "one/cpuset.cpus": "1",
			"cpuset/kubepods/besteffort/pod" + fraction + "/one/cpuset.cpus": "0",
		}, map[string]string{exclusive: "1"}},
		"no static policy": {map[string]string{
			"kubepods.slice/cpuset.cpus.effective": "0-7", systemd + "cri-containerd-1.scope/cpuset.cpus": "",
		}, map[string]string{}},
		"no kubelet": {map[string]string{"system.slice/cpuset.cpus": "0-7"}, nil},
	} {
		got, err := agent.ExclusiveCPUs(groups(test.files))
		if err != nil || !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
	for name, files := range map[string]map[string]string{
		"no list": {"kubepods.slice/cpuset.cpus.effective": "many"},
		"no list of a container": {
			"kubepods.slice/cpuset.cpus.effective": "0-7", systemd + "cri-containerd-1.scope/cpuset.cpus": "x",
		},
		"nothing said of all": {"kubepods.slice/memory.max": "1"},
	} {
		if got, err := agent.ExclusiveCPUs(groups(files)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
