package pmu

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// worthAVisit is from how many groups on a CPU on it pays to go there. A read
// from elsewhere interrupts that CPU and waits for it, which costs several times
// a read on the spot, and in a virtual machine fifteen times.
const worthAVisit = 4

// visitor takes the calling thread to CPUs.
type visitor struct {
	home   unix.CPUSet
	locked bool
	away   bool
}

// visit goes to a CPU for so many readings, when that pays and is allowed; a CPU
// that this process may not use is read from afar.
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

// leave lets the thread run where it could before. A thread that cannot is given
// up: it stays locked and ends with its goroutine.
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
