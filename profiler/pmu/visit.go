package pmu

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// worthAVisit is the number of groups on a CPU from which it pays to move there. A
// remote read interrupts that CPU and costs several times a local one, and fifteen
// times in a virtual machine.
const worthAVisit = 4

// visitor takes the calling thread to CPUs.
type visitor struct {
	home   unix.CPUSet
	locked bool
	away   bool
}

// visit moves to a CPU for a number of readings, when that pays and the process
// may use the CPU.
func (v *visitor) visit(cpu, readings int) {
	if readings < worthAVisit || cpu < 0 {
		return
	}
	if !v.locked {
		runtime.LockOSThread()
		v.locked = true
		if unix.SchedGetaffinity(0, &v.home) != nil {
			v.home.Zero()
		}
	}
	if v.home.Count() == 0 || !v.home.IsSet(cpu) {
		return
	}
	var there unix.CPUSet
	there.Set(cpu)
	if unix.SchedSetaffinity(0, &there) == nil {
		v.away = true
	}
}

// leave restores the thread's CPUs. If that fails, the thread stays locked and
// ends with its goroutine.
func (v *visitor) leave() error {
	if !v.locked {
		return nil
	}
	if v.away {
		if err := unix.SchedSetaffinity(0, &v.home); err != nil {
			return fmt.Errorf("leaving the CPU whose counters were read: %w", err)
		}
	}
	runtime.UnlockOSThread()
	v.locked, v.away = false, false
	return nil
}
