package topology

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"
)

var (
	// ErrOffline is wrapped when a CPU is offline or does not exist.
	ErrOffline = errors.New("CPU is offline or does not exist")
	// ErrNotAllowed is wrapped when this process may not run on a CPU.
	ErrNotAllowed = errors.New("CPU is not allowed for this process")
)

// AllowedCPUs returns the CPUs the calling thread may run on: its affinity
// mask, which a cgroup's cpuset narrows too (sched_getaffinity(2)).
func AllowedCPUs() (cpuset.CPUSet, error) { return ThreadCPUs(0) }

// ThreadCPUs is AllowedCPUs of a thread; 0 is the calling one. The error wraps
// ESRCH when there is no such thread.
func ThreadCPUs(thread int) (cpuset.CPUSet, error) {
	mask := unix.NewCPUSet(MaxCPUs)
	if err := unix.SchedGetaffinityDynamic(thread, mask); err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("reading the CPU affinity: allow sched_getaffinity in the sandbox: %w", err)
	}
	var ids []int
	for id := range MaxCPUs {
		if mask.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...), nil
}

// ProcessCPUs returns the CPUs that any thread of this process may run on. A
// single one may be pinned for a purpose.
func ProcessCPUs() (cpuset.CPUSet, error) {
	threads, err := Threads()
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	var all cpuset.CPUSet
	for _, thread := range threads {
		cpus, err := ThreadCPUs(thread)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return cpuset.CPUSet{}, err
		}
		all = all.Union(cpus)
	}
	return all, nil
}

// Threads returns the numbers of the threads of this process.
func Threads() ([]int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("threads of this process: %w", err)
	}
	var threads []int
	for _, task := range tasks {
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			threads = append(threads, thread)
		}
	}
	return threads, nil
}

// Confine restricts a thread to CPUs; 0 is the calling thread, which then must
// be locked to its goroutine. Errors wrap ErrOffline or ErrNotAllowed.
func Confine(thread int, cpus cpuset.CPUSet) error {
	mask := unix.NewCPUSet(MaxCPUs)
	for _, cpu := range cpus.UnsortedList() {
		if cpu >= 0 && cpu < MaxCPUs {
			mask.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinityDynamic(thread, mask); err != nil {
		return fmt.Errorf("CPUs %s: %w", cpus, refusal(cpus, err))
	}
	return nil
}

// ConfineProcess restricts every thread of this process to CPUs, but the thread of a
// number; 0 for none. Threads that start meanwhile inherit from those that start them.
// Errors are those of Confine.
func ConfineProcess(cpus cpuset.CPUSet, but int) error {
	confined := map[int]bool{but: true}
	for fresh := true; fresh; {
		threads, err := Threads()
		if err != nil {
			return err
		}
		fresh = false
		for _, thread := range threads {
			if confined[thread] {
				continue
			}
			confined[thread], fresh = true, true
			if err := Confine(thread, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// RunOn runs a function on one CPU, locked to its thread, and restores the
// thread's affinity. The CPU may lie outside the present affinity, but not
// outside the cpuset. When the error wraps ErrOffline or ErrNotAllowed, the
// function has not run.
//
// Call it on a goroutine of its own: if the affinity cannot be restored, the
// goroutine stays locked and the thread ends with it.
func RunOn(cpu int, run func()) error {
	runtime.LockOSThread()
	before, err := AllowedCPUs()
	if err == nil {
		err = Confine(0, cpuset.New(cpu))
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	run()
	if err := Confine(0, before); err != nil {
		return fmt.Errorf("restoring the CPU affinity: %w", err)
	}
	runtime.UnlockOSThread()
	return nil
}

// refusal tells an offline CPU from one outside the cpuset: the kernel answers
// both with EINVAL.
func refusal(cpus cpuset.CPUSet, err error) error {
	if !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: allow sched_setaffinity in the sandbox: %w", ErrNotAllowed, err)
	}
	text, readErr := os.ReadFile("/sys/devices/system/cpu/online")
	online, parseErr := ParseCPUs(string(text))
	if readErr == nil && parseErr == nil && cpus.Intersection(online).IsEmpty() {
		return fmt.Errorf("%w: choose from %s: %w", ErrOffline, online, err)
	}
	return fmt.Errorf("%w: widen its cpuset cgroup: %w", ErrNotAllowed, err)
}
