package interferer

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// clock reads CLOCK_MONOTONIC without a system call, as the time since the
// moment from which the kernel counts, so that processes agree on it.
type clock struct {
	base time.Time
	// offset is CLOCK_MONOTONIC at base.
	offset time.Duration
}

func newClock() (clock, error) {
	var ts unix.Timespec
	base := time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return clock{}, fmt.Errorf("CLOCK_MONOTONIC: %w", err)
	}
	// The system call read the clock between the two readings here.
	return clock{base: base, offset: time.Duration(ts.Nano()) - time.Since(base)/2}, nil
}

// now returns the time; some 25 ns on amd64.
func (c clock) now() time.Duration { return c.offset + time.Since(c.base) }

// threadCPUTime returns the time for which the calling thread had a CPU.
func threadCPUTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
