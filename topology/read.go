package topology

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Read reads a machine from the roots of its sysfs and procfs. Caches, NUMA nodes,
// socket numbers and the model may be missing. A file that is not as the kernel
// documents it is an error that names the file and wraps sysfile.ErrMalformed.
func Read(sys, proc fs.FS) (*Machine, error) {
	online, err := listAttribute(sys, "devices/system/cpu/online", MaxCPUs)
	if err != nil {
		return nil, fmt.Errorf("reading the online CPUs under /sys: %w", err)
	}
	if online.IsEmpty() {
		return nil, fmt.Errorf("devices/system/cpu/online: %w: no CPU is online", sysfile.ErrMalformed)
	}
	m := &Machine{}
	if m.MemoryBytes, err = memoryTotal(proc, "meminfo"); err != nil {
		return nil, fmt.Errorf("reading the memory size under /proc: %w", err)
	}
	if m.Nodes, err = readNodes(sys, online); err != nil {
		return nil, fmt.Errorf("reading NUMA nodes under /sys: %w", err)
	}
	if m.Nodes == nil {
		m.Nodes = []Node{{CPUs: online, MemoryBytes: m.MemoryBytes}}
	}
	for _, id := range online.List() {
		cpu, err := readCPU(sys, id, online)
		if err != nil {
			return nil, fmt.Errorf("reading CPU %d under /sys: %w", id, err)
		}
		cpu.Node = nodeOf(m.Nodes, id)
		m.CPUs = append(m.CPUs, cpu)
	}
	if m.Caches, err = readCaches(sys, online); err != nil {
		return nil, fmt.Errorf("reading caches under /sys: %w", err)
	}
	if err := m.readIdentity(sys, proc); err != nil {
		return nil, fmt.Errorf("reading the processor's name: %w", err)
	}
	return m, nil
}

// readCPU reads /sys/devices/system/cpu/cpuN/topology
// (Documentation/ABI/stable/sysfs-devices-system-cpu):
//
//	physical_package_id   0       or -1 when the firmware does not say
//	core_cpus_list        0,64    CPUs of the same core, since Linux 5.3
//	thread_siblings_list  0,64    its older name
//
// The directory is missing in some containers and on uniprocessor kernels;
// each CPU is then taken for a core of its own on an unknown socket.
func readCPU(sys fs.FS, id int, online cpuset.CPUSet) (CPU, error) {
	dir := fmt.Sprintf("devices/system/cpu/cpu%d/topology/", id)
	socket, err := sysfile.Int(sys, dir+"physical_package_id")
	if errors.Is(err, fs.ErrNotExist) {
		socket, err = -1, nil
	}
	if err != nil {
		return CPU{}, err
	}
	core, err := listAttribute(sys, dir+"core_cpus_list", MaxCPUs)
	if errors.Is(err, fs.ErrNotExist) {
		core, err = listAttribute(sys, dir+"thread_siblings_list", MaxCPUs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		core, err = cpuset.New(id), nil
	}
	if err != nil {
		return CPU{}, err
	}
	if !core.Contains(id) {
		return CPU{}, fmt.Errorf("%score_cpus_list: %w: CPU %d is not among the CPUs of its own core, %s", dir, sysfile.ErrMalformed, id, core)
	}
	return CPU{ID: id, Core: core.Intersection(online).List()[0], Socket: max(socket, -1)}, nil
}

func nodeOf(nodes []Node, cpu int) int {
	for _, n := range nodes {
		if n.CPUs.Contains(cpu) {
			return n.ID
		}
	}
	return -1
}
