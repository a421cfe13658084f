package tasks

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/profiler"
)

// ProcessClock returns the CPU time of all threads of a process; false for one that has
// ended, and for a number that is a thread's.
func ProcessClock(pid int) (time.Duration, bool) {
	// See MAKE_PROCESS_CPUCLOCK and CPUCLOCK_SCHED of the kernel.
	clock := ^int32(pid)<<3 | 2
	var used unix.Timespec
	if err := unix.ClockGettime(clock, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Nano()), true
}

// CPUMeter reads the CPU time of processes. Processes that have ended keep what they had
// used when they were read last. It is not safe for concurrent use.
type CPUMeter struct {
	processes profiler.Processes
	clock     monotonic.Clock
	used      map[int]time.Duration
	current   []int
	sum       time.Duration
}

// NewCPUMeter returns a meter of processes, which Refresh finds.
func NewCPUMeter(p profiler.Processes) *CPUMeter {
	return &CPUMeter{processes: p, used: map[int]time.Duration{}}
}

// Refresh finds processes that were started since.
func (m *CPUMeter) Refresh() error {
	ids, err := m.processes.Threads()
	if err != nil {
		return fmt.Errorf("processes: %w", err)
	}
	m.current = m.current[:0]
	for _, id := range ids {
		if _, ok := ProcessClock(id); ok {
			m.current = append(m.current, id)
		}
	}
	return nil
}

// Read returns the CPU time so far in seconds, and when it was read.
func (m *CPUMeter) Read() (float64, time.Duration, error) {
	for _, pid := range m.current {
		if now, ok := ProcessClock(pid); ok && now > m.used[pid] {
			m.sum += now - m.used[pid]
			m.used[pid] = now
		}
	}
	return m.sum.Seconds(), m.clock.Now(), nil
}
