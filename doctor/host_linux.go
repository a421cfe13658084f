package doctor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

// Host returns the environment of the machine this process runs on. It keeps
// /sys and /proc open for as long as it is reachable.
func Host() (Environment, error) {
	sys, proc, _, err := sysfile.OpenHost()
	if err != nil {
		return Environment{}, err
	}
	return Environment{
		Sys:            sys,
		Proc:           proc,
		Machine:        topology.ReadHost,
		Allowed:        topology.AllowedCPUs,
		Pin:            func(cpu int) error { return pinned(cpu, func() {}) },
		BindMemory:     bindMemory,
		OpenSystemWide: openSystemWide,
		Ticks:          ticks.Available,
		RealTime:       tryRealTime,
		Interruptions:  watch,
		Regime:         regime.Probe,
		Pause:          100 * time.Millisecond,
	}, nil
}

// pinned runs a function on one CPU in a goroutine of its own.
func pinned(cpu int, run func()) error {
	done := make(chan error)
	go func() { done <- topology.RunOn(cpu, run) }()
	return <-done
}

// bindMemory binds a page of memory, and gives it back.
func bindMemory(node int) error {
	buffer, err := memory.New(int64(os.Getpagesize()), &node)
	if err != nil {
		return err
	}
	return buffer.Free()
}

// openSystemWide counts the CPU clock: the kernel asks for the same permission
// as for a memory controller's counters (perf_event_open(2), pid −1).
func openSystemWide(cpu int) error {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   unix.PERF_ATTR_SIZE_VER0,
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("perf_event_open: %w", err)
	}
	return unix.Close(fd)
}

// tryRealTime enters SCHED_FIFO on a thread that then ends, whatever it became.
func tryRealTime() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
		err := unix.SchedSetAttr(0, &attr, 0)
		if err == nil {
			ordinary := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
			err = unix.SchedSetAttr(0, &ordinary, 0)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// gap is the shortest pause of a spinning loop that counts as an interruption:
// far above reading the clock, below what a scheduler or a hypervisor takes.
const gap = 5 * time.Microsecond

// watch spins on a CPU, reading the clock all the time.
func watch(ctx context.Context, cpu int, window time.Duration) (Interruptions, error) {
	var seen Interruptions
	err := pinned(cpu, func() {
		start := time.Now()
		last := start
		for last.Sub(start) < window && ctx.Err() == nil {
			now := time.Now()
			if missed := now.Sub(last); missed > gap {
				seen.Total += missed
				seen.Longest = max(seen.Longest, missed)
			}
			last = now
		}
		seen.Window = last.Sub(start)
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return seen, err
}
