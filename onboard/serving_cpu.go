package onboard

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/profiler"
)

// processClock returns the CPU time of all threads of a process; false for one that has
// ended, and for a number that is a thread's.
func processClock(pid int) (time.Duration, bool) {
	// See MAKE_PROCESS_CPUCLOCK and CPUCLOCK_SCHED of the kernel.
	clock := ^int32(pid)<<3 | 2
	var used unix.Timespec
	if err := unix.ClockGettime(clock, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Nano()), true
}

// cpuMeter is a party whose work is the CPU time of processes, in seconds. Processes
// that have ended keep what they had used when they were read last.
type cpuMeter struct {
	processes profiler.Processes
	clock     monotonic.Clock
	used      map[int]time.Duration
	current   []int
	sum       time.Duration
}

func newCPUMeter(p profiler.Processes) *cpuMeter {
	return &cpuMeter{processes: p, used: map[int]time.Duration{}}
}

// refresh finds processes that were started since.
func (m *cpuMeter) refresh() error {
	ids, err := m.processes.Threads()
	if err != nil {
		return fmt.Errorf("the processes of the service: %w", err)
	}
	m.current = m.current[:0]
	for _, id := range ids {
		if _, ok := processClock(id); ok {
			m.current = append(m.current, id)
		}
	}
	return nil
}

// Read returns the CPU time so far.
func (m *cpuMeter) Read() (float64, time.Duration, error) {
	for _, pid := range m.current {
		if now, ok := processClock(pid); ok && now > m.used[pid] {
			m.sum += now - m.used[pid]
			m.used[pid] = now
		}
	}
	return m.sum.Seconds(), m.clock.Now(), nil
}

// Switch does nothing: the service works when there is load.
func (*cpuMeter) Switch(bool) error { return nil }

// Smooth reports true: the time advances by ticks of the kernel, short against a slice.
func (*cpuMeter) Smooth() bool { return true }

// ownCPUTime is what this process has used.
func ownCPUTime() time.Duration {
	var u unix.Rusage
	// The only errors are those of a wrong address or number.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
