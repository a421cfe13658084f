package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// ExclusiveCPUs returns the CPUs that pods use exclusively, as kernel CPU lists by the
// UID of the pod: those that the kubelet's CPU manager gave to containers by its static
// policy. groups is /sys/fs/cgroup of the node, of either version; without the control
// groups of a kubelet there are none.
//
// A container has CPUs for itself if its pod is guaranteed, it may not use all, and it
// shares none with any other. All others run in what is left.
func ExclusiveCPUs(groups fs.FS) (map[string]string, error) {
	dir, err := kubepods(groups)
	if dir == "" || err != nil {
		return nil, err
	}
	all, err := cpusOf(groups, dir, "cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
	if err != nil {
		return nil, err
	}
	var containers []container
	if err := collect(groups, dir, container{guaranteed: true}, &containers); err != nil {
		return nil, err
	}
	byPod := map[string]cpuset.CPUSet{}
	for i, c := range containers {
		if c.guaranteed && !c.cpus.IsEmpty() && !c.cpus.Equals(all) && alone(containers, i, all) {
			byPod[c.pod] = byPod[c.pod].Union(c.cpus)
		}
	}
	lists := make(map[string]string, len(byPod))
	for pod, cpus := range byPod {
		lists[pod] = cpus.String()
	}
	return lists, nil
}

// container is a container of a pod.
type container struct {
	pod string // its UID
	// guaranteed is true for the class of pods that lie in no folder of a class.
	guaranteed bool
	cpus       cpuset.CPUSet // that it may use; empty for those of the pod
}

// alone reports whether container i shares no CPU with any that may not use all. Those
// that may are the sandboxes of pods, which do not run.
func alone(containers []container, i int, all cpuset.CPUSet) bool {
	for j, other := range containers {
		if j != i && !other.cpus.Equals(all) && !other.cpus.Intersection(containers[i].cpus).IsEmpty() {
			return false
		}
	}
	return true
}

// kubepods returns the folder of all pods: /kubepods or /kubepods.slice, or in a folder
// of the kubelet's own, below the controller in version 1. It is empty without a kubelet.
func kubepods(groups fs.FS) (string, error) {
	for _, top := range []string{"cpuset", "."} {
		entries, err := fs.ReadDir(groups, top)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("control groups: %w", err)
		}
		for _, e := range entries {
			dir := path.Join(top, e.Name())
			switch {
			case isKubepods(e.Name()):
				return dir, nil
			case e.IsDir() && strings.HasPrefix(e.Name(), "kubelet"):
				inner, err := fs.ReadDir(groups, dir)
				if err != nil {
					return "", fmt.Errorf("control groups: %w", err)
				}
				for _, e := range inner {
					if isKubepods(e.Name()) {
						return path.Join(dir, e.Name()), nil
					}
				}
			}
		}
	}
	return "", nil
}

func isKubepods(name string) bool {
	return name == "kubepods" || name == "kubepods.slice" || strings.HasSuffix(name, "-kubepods.slice")
}

// podGroup is the folder of a pod, by the driver systemd or cgroupfs.
var podGroup = regexp.MustCompile(`(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$`)

// collect appends the containers in the folder of a pod, or of several where of names
// none. Containers that end meanwhile are skipped.
func collect(groups fs.FS, dir string, of container, containers *[]container) error {
	entries, err := fs.ReadDir(groups, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		inner := path.Join(dir, e.Name())
		switch uid := podGroup.FindStringSubmatch(e.Name()); {
		case of.pod != "":
			cpus, err := cpusOf(groups, inner, "cpuset.cpus")
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) { // it has ended
				continue
			}
			if err != nil {
				return err
			}
			*containers = append(*containers, container{of.pod, of.guaranteed, cpus})
		case uid != nil:
			err = collect(groups, inner, container{pod: strings.ReplaceAll(uid[1], "_", "-"), guaranteed: of.guaranteed}, containers)
		case strings.Contains(e.Name(), "burstable") || strings.Contains(e.Name(), "besteffort"):
			err = collect(groups, inner, container{}, containers)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cpusOf reads the first of some files in a folder that exists and is not empty.
func cpusOf(groups fs.FS, dir string, files ...string) (cpus cpuset.CPUSet, err error) {
	for _, file := range files {
		var text []byte
		if text, err = fs.ReadFile(groups, path.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			cpus, err = topology.ParseList(string(text), topology.MaxCPUs)
		}
		if err != nil || !cpus.IsEmpty() {
			break
		}
	}
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("control group %s: %w", dir, err)
	}
	return cpus, nil
}
