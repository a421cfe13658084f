package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// readNodes reads /sys/devices/system/node
// (Documentation/ABI/stable/sysfs-devices-node):
//
//	online             0-1
//	nodeN/cpulist      0-15,32-47   empty for a node of memory only
//	nodeN/distance     10 21        to each online node, in order
//	nodeN/meminfo      Node 0 MemTotal:       32658012 kB
//
// It returns nil when the kernel has no NUMA support. A CPU in two nodes is
// refused.
func readNodes(sys fs.FS, online cpuset.CPUSet) ([]Node, error) {
	const dir = "devices/system/node/"
	ids, err := listAttribute(sys, dir+"online", maxNodes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, id := range ids.List() {
		node, err := readNode(sys, fmt.Sprintf("%snode%d/", dir, id), ids.Size())
		if err != nil {
			return nil, err
		}
		node.ID, node.CPUs = id, node.CPUs.Intersection(online)
		for _, other := range nodes {
			if both := node.CPUs.Intersection(other.CPUs); !both.IsEmpty() {
				return nil, fmt.Errorf("%snode%d/cpulist: %w: CPUs %s are in node %d too", dir, id, sysfile.ErrMalformed, both, other.ID)
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func readNode(sys fs.FS, dir string, nodes int) (Node, error) {
	cpus, err := listAttribute(sys, dir+"cpulist", MaxCPUs)
	if err != nil {
		return Node{}, err
	}
	distances, err := readDistances(sys, dir+"distance", nodes)
	if err != nil {
		return Node{}, err
	}
	bytes, err := memoryTotal(sys, dir+"meminfo")
	if err != nil {
		return Node{}, err
	}
	return Node{CPUs: cpus, Distances: distances, MemoryBytes: bytes}, nil
}

func readDistances(sys fs.FS, name string, nodes int) ([]int, error) {
	text, err := sysfile.Text(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var distances []int
	for field := range strings.FieldsSeq(text) {
		d, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %q is not a distance", name, sysfile.ErrMalformed, field)
		}
		distances = append(distances, int(d))
	}
	if len(distances) != nodes {
		return nil, fmt.Errorf("%s: %w: %d distances for %d online nodes", name, sysfile.ErrMalformed, len(distances), nodes)
	}
	return distances, nil
}

// memoryTotal reads MemTotal of /proc/meminfo (proc_meminfo(5)), or of a node's.
func memoryTotal(fsys fs.FS, name string) (int64, error) {
	values, err := sysfile.MemInfo(fsys, name)
	if err != nil {
		return 0, err
	}
	total, ok := values["MemTotal"]
	if !ok {
		return 0, fmt.Errorf("%s: %w: no line MemTotal with a number of kB", name, sysfile.ErrMalformed)
	}
	return total, nil
}
