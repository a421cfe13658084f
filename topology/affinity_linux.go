package topology

import (
	"errors"
	"fmt"
	"os"
	"runtime"

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
func AllowedCPUs() (cpuset.CPUSet, error) {
	mask := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, mask); err != nil {
		return cpuset.CPUSet{}, affinityUnknown(err)
	}
	var ids []int
	for id := range maxCPUs {
		if mask.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...), nil
}

// RunOn runs a function on one CPU, locked to its thread, and puts the
// thread's affinity back. The CPU may lie outside the present affinity, but not
// outside the cpuset. Errors wrap ErrOffline or ErrNotAllowed; the function has
// then not run.
//
// Call it on a goroutine of its own: should the affinity not be put back, the
// goroutine stays locked, so that the thread ends with it.
func RunOn(cpu int, run func()) error {
	runtime.LockOSThread()
	before := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, before); err != nil {
		runtime.UnlockOSThread()
		return affinityUnknown(err)
	}
	only := unix.NewCPUSet(maxCPUs)
	if cpu >= 0 {
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinityDynamic(0, only); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("CPU %d: %w", cpu, refusal(cpu, err))
	}
	run()
	if err := unix.SchedSetaffinityDynamic(0, before); err != nil {
		return fmt.Errorf("restoring the CPU affinity: %w", err)
	}
	runtime.UnlockOSThread()
	return nil
}

func affinityUnknown(err error) error {
	return fmt.Errorf("reading the CPU affinity: allow sched_getaffinity in the sandbox: %w", err)
}

// refusal tells an offline CPU from one outside the cpuset: the kernel answers
// both with EINVAL.
func refusal(cpu int, err error) error {
	if !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: allow sched_setaffinity in the sandbox: %w", ErrNotAllowed, err)
	}
	text, readErr := os.ReadFile("/sys/devices/system/cpu/online")
	online, parseErr := ParseCPUs(string(text))
	if readErr == nil && parseErr == nil && !online.Contains(cpu) {
		return fmt.Errorf("%w: choose from %s: %w", ErrOffline, online, err)
	}
	return fmt.Errorf("%w: widen its cpuset cgroup: %w", ErrNotAllowed, err)
}
