package interferer

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/topology"
)

// Linux lets real-time threads run for kernel.sched_rt_runtime_us of each second,
// 0.95 s, and takes the CPU from them for the rest even when no other thread is
// ready: 50 ms without traffic. A thread that has ordinary priority for a little
// more than 5% of the time, in small parts, never reaches this limit. It loses
// nothing unless others want its CPU.
const (
	realTimeCycle = 200 * time.Millisecond
	realTimePart  = 184 * time.Millisecond
)

// setRealTime gives a thread the lowest real-time priority, or the ordinary
// one; 0 is the calling thread.
func setRealTime(tid int, on bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if on {
		attr.Policy, attr.Priority = unix.SCHED_FIFO, 1
	}
	if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// beRealTime gives every thread of this process real-time priority. Threads
// made later inherit it. All of them need it: when the Go runtime moves a
// streaming thread's work along, the thread that hands over must not have to
// wait behind an ordinary process.
func beRealTime() error {
	tids, err := topology.Threads()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := setRealTime(tid, true); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// realTime is the priority of the calling thread over time. The zero value
// leaves it alone.
type realTime struct {
	wanted bool
	// ordinary says that the thread has the ordinary priority for a while.
	ordinary bool
}

// keep gives the thread the priority that is due.
func (r *realTime) keep(now time.Duration) error {
	if !r.wanted {
		return nil
	}
	ordinary := ordinaryAt(now)
	if ordinary == r.ordinary {
		return nil
	}
	r.ordinary = ordinary
	return setRealTime(0, !ordinary)
}

// ordinaryAt reports whether a moment is one of ordinary priority.
func ordinaryAt(now time.Duration) bool { return now%realTimeCycle >= realTimePart }
