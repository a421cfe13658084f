// Package monotonic is the clock by which slices of milliseconds are timed, and the CPU time of
// a process.
package monotonic

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is CLOCK_MONOTONIC.
type Clock struct{}

// Now returns the time since an arbitrary moment.
func (Clock) Now() time.Duration {
	var ts unix.Timespec
	// The only errors are those of a wrong address or clock.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// Sleep puts the thread to sleep: a goroutine that waits for a timer of the Go
// runtime wakes up to a millisecond later.
func (Clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(d.Nanoseconds())
	// An interrupted sleep is shorter; callers check the clock.
	_ = unix.Nanosleep(&ts, nil)
}

// ProcessTime returns the CPU time of all threads of a process; false for one that has
// ended, and for a number that is a thread's.
func ProcessTime(pid int) (time.Duration, bool) {
	// See MAKE_PROCESS_CPUCLOCK and CPUCLOCK_SCHED of the kernel.
	clock := ^int32(pid)<<3 | 2
	var used unix.Timespec
	if err := unix.ClockGettime(clock, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Nano()), true
}
