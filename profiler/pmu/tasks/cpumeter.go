package tasks

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/internal/procstat"
	"bandmate.dev/bandmate/profiler"
)

// waitedFor returns the CPU time of the children that a process has waited for, and of those
// that they had waited for, in steps of 10 ms; 0 for a process that has ended.
func waitedFor(pid int) time.Duration {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	s, err := procstat.Parse(data)
	if err != nil {
		return 0
	}
	return time.Duration(s.WaitedFor) * time.Second / ticksPerSecond
}

// CPUMeter reads the CPU time of processes. Processes that have ended keep what they had
// used when they were read last, and the rest counts once their parent has waited for them,
// if it is one of the processes. So does the time of children that were never found. It is
// not safe for concurrent use.
type CPUMeter struct {
	processes profiler.Processes
	clock     monotonic.Clock
	// ofProcess is monotonic.ProcessTime, and ofChildren is waitedFor.
	ofProcess  func(pid int) (time.Duration, bool)
	ofChildren func(pid int) time.Duration
	metered    map[int]*metered
	sum        time.Duration
	// counted is the part of sum that processes had used which have ended since the last
	// Refresh, and before that those since the one before. It is about to be in the time
	// that their parents have waited for, if these do and are metered.
	counted, before time.Duration
}

// metered is what was read of a process.
type metered struct {
	own, children time.Duration
	// isCurrent says that it was found by the last Refresh.
	isCurrent bool
}

// NewCPUMeter returns a meter of processes, which Refresh finds.
func NewCPUMeter(p profiler.Processes) *CPUMeter {
	return &CPUMeter{processes: p, ofProcess: monotonic.ProcessTime, ofChildren: waitedFor, metered: map[int]*metered{}}
}

// Refresh finds processes that were started since.
func (m *CPUMeter) Refresh() error {
	ids, err := m.processes.Threads()
	if err != nil {
		return fmt.Errorf("processes: %w", err)
	}
	for _, p := range m.metered {
		p.isCurrent = false
	}
	m.before, m.counted = m.counted, 0
	for _, id := range ids {
		if _, ok := m.ofProcess(id); !ok {
			continue
		}
		if m.metered[id] == nil {
			m.metered[id] = &metered{}
		}
		m.metered[id].isCurrent = true
	}
	return nil
}

// Read returns the CPU time so far in seconds, and when it was read.
func (m *CPUMeter) Read() (float64, time.Duration, error) {
	// Children first: what ends in between is not in the time of its parent yet.
	var rise time.Duration
	for pid, p := range m.metered {
		if !p.isCurrent {
			continue
		}
		if now := m.ofChildren(pid); now > p.children {
			rise += now - p.children
			p.children = now
		}
	}
	for pid, p := range m.metered {
		now, runs := m.ofProcess(pid)
		switch {
		case !runs:
			m.counted += p.own + p.children
			delete(m.metered, pid)
		case p.isCurrent && now > p.own:
			m.sum += now - p.own
			p.own = now
		}
	}
	earlier := min(rise, m.before)
	m.before -= earlier
	known := min(rise-earlier, m.counted)
	m.counted -= known
	m.sum += rise - earlier - known
	return m.sum.Seconds(), m.clock.Now(), nil
}
