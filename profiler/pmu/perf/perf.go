// Package perf opens and reads hardware counters through perf_event_open(2).
//
// [Kernel] does so for real; everything above it takes an [Opener], so that it
// can be tested on machines without counters.
package perf

import (
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// Event is what to count.
type Event struct {
	// Label names the event in errors, such as "uncore_imc_0/cas_count_read".
	Label string
	// Type is that of the device, see [sysfs.Device].
	Type uint32
	// Code are the configuration words.
	Code sysfs.Code
	// UserOnly leaves out what the kernel does for a program, which is all that
	// perf_event_paranoid 2 lets other users than root count. Events outside the
	// cores refuse it.
	UserOnly bool
}

// CounterSample is the state of a group of events since it was opened.
type CounterSample struct {
	// Values are the raw counts in the order of the events, 64 bits wide: the
	// kernel follows the wraps of narrower hardware counters.
	Values []uint64
	// Enabled is how long the group was meant to count, Running how long it had
	// counters to count with; less where several groups share them.
	Enabled, Running time.Duration
}

// Group is a set of open events that count at the same times.
type Group interface {
	// Read fills r, reusing its Values. The error wraps [ErrVanished] when the
	// device no longer counts the group.
	Read(r *CounterSample) error
	// Close stops counting. It must be called once, whatever Read returned.
	Close() error
}

// Opener opens groups of events.
type Opener interface {
	// OpenCPU counts events on everything that a CPU stands for: for a device
	// outside the cores, all of the device. Errors are those of
	// perf_event_open(2), with the place.
	OpenCPU(cpu int, events []Event) (Group, error)
	// OpenCommand counts an event in the programs that the calling thread starts
	// from now on, and in all their descendants. The thread itself is not counted.
	// It must be locked (runtime.LockOSThread) until the programs have started.
	OpenCommand(event Event) (Group, error)
	// OpenThread counts an event in a running thread and in every thread and
	// process that it starts from now on. The error is ESRCH when the thread has
	// ended.
	OpenThread(thread int, event Event) (Group, error)
}

// ErrVanished is wrapped when a group cannot be read any more: its driver was
// unloaded, or its CPU went offline without a successor.
var ErrVanished = errors.New("the counter vanished")

// ClockStep is how far the times of a group may go back when an event moves between
// CPUs whose time-stamp counters are not synchronized.
const ClockStep = 50 * time.Microsecond

// Between sets d to the counts from a to b, samples of the same group, and reuses
// its Values. Times that fall by at most [ClockStep] count as unchanged. Times that
// fall further and counts that fall are errors: the group was reset.
func (d *CounterSample) Between(a, b CounterSample) error {
	if len(a.Values) != len(b.Values) {
		return fmt.Errorf("%d counts after %d: not the same group", len(b.Values), len(a.Values))
	}
	d.Enabled, d.Running = b.Enabled-a.Enabled, b.Running-a.Running
	if min(d.Enabled, d.Running) < -ClockStep {
		return fmt.Errorf("%w: its time went back from %v to %v", ErrVanished, a.Enabled, b.Enabled)
	}
	d.Enabled, d.Running = max(d.Enabled, 0), max(d.Running, 0)
	d.Values = d.Values[:0]
	for i, from := range a.Values {
		to := b.Values[i]
		// A count that falls below where it started is negative: as a signed number
		// it is compared rightly, and no counter reaches 2⁶³.
		if int64(to) < int64(from) {
			return fmt.Errorf("%w: number %d of its group, from %d to %d", ErrBackwards, i+1, int64(from), int64(to))
		}
		d.Values = append(d.Values, to-from)
	}
	return nil
}

// ErrBackwards is wrapped when a count is lower than it was: the device was
// reset, for instance by another tool that writes its registers.
var ErrBackwards = errors.New("a count fell")
