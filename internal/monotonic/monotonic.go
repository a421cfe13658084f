// Package monotonic is the clock by which slices of milliseconds are timed.
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
