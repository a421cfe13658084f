package interferer

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"
)

// maxCPUs bounds the numbers of CPUs; Linux can be built for 8192.
const maxCPUs = 1 << 16

// affinity returns the CPUs that a thread may run on; 0 is the calling thread.
func affinity(tid int) (cpuset.CPUSet, error) {
	// The kernel refuses masks that are smaller than its own.
	for size := 1024; size <= maxCPUs; size *= 2 {
		mask := unix.NewCPUSet(size)
		err := unix.SchedGetaffinityDynamic(tid, mask)
		if errors.Is(err, unix.EINVAL) {
			continue
		}
		if err != nil {
			return cpuset.CPUSet{}, fmt.Errorf("sched_getaffinity: %w", err)
		}
		var cpus []int
		for cpu := range size {
			if mask.IsSet(cpu) {
				cpus = append(cpus, cpu)
			}
		}
		return cpuset.New(cpus...), nil
	}
	return cpuset.CPUSet{}, fmt.Errorf("sched_getaffinity: more than %d CPUs", maxCPUs)
}

// processAffinity returns the CPUs that any thread of this process may run on.
// A single one may be pinned for a purpose.
func processAffinity() (cpuset.CPUSet, error) {
	tids, err := threads()
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	var all cpuset.CPUSet
	for _, tid := range tids {
		cpus, err := affinity(tid)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return cpuset.CPUSet{}, err
		}
		all = all.Union(cpus)
	}
	return all, nil
}

// threads returns the thread IDs of this process.
func threads() ([]int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("threads of this process: %w", err)
	}
	var tids []int
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// confine restricts a thread to CPUs; 0 is the calling thread, which then must
// be locked to its goroutine.
func confine(tid int, cpus cpuset.CPUSet) error {
	mask := unix.NewCPUSet(maxCPUs)
	for _, cpu := range cpus.UnsortedList() {
		mask.Set(cpu)
	}
	err := unix.SchedSetaffinityDynamic(tid, mask)
	switch {
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("CPUs %v: offline, missing, or outside the cpuset of this process: choose others: %w", cpus, ErrCPU)
	case err != nil:
		return fmt.Errorf("CPUs %v: sched_setaffinity: %w: %w", cpus, err, ErrCPU)
	}
	return nil
}

// currentCPU returns the CPU that the calling thread runs on.
func currentCPU() (int, error) {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, fmt.Errorf("getcpu: %w", errno)
	}
	return int(cpu), nil
}
