package profiler

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Workload is what is measured: a command from start to end, processes that run
// already, or everything on the machine for a duration.
type Workload struct {
	// Run runs the command once and returns when it has ended, or soon after
	// ctx ends. A source may call it several times, never at the same time.
	Run func(ctx context.Context) error
	// Processes run already. They are watched for Duration, or with a Duration
	// of 0 until they have ended.
	Processes Processes
	// Duration is how long to watch the machine, or the processes at most.
	Duration time.Duration
	// Interval is the length of a sample of the time line; 0 leaves the choice
	// to the source. A source that cannot resolve time leaves the line out.
	Interval time.Duration
}

// Processes are processes that run already, such as a process with its
// descendants or a cgroup.
type Processes interface {
	// Threads lists the threads of all of them at this moment; none when all
	// have ended.
	Threads() ([]int, error)
	// Wait returns nil when they have ended, or the error of ctx.
	Wait(ctx context.Context) error
	// String names them in messages: "process 42 and its descendants".
	String() string
}

// Validate reports every fault of w at once.
func (w Workload) Validate() error {
	var faults []error
	switch {
	case w.Run != nil && (w.Processes != nil || w.Duration != 0):
		faults = append(faults, errors.New("workload: a command is watched from start to end: want neither processes nor a duration with it"))
	case w.Run == nil && w.Processes == nil && w.Duration == 0:
		faults = append(faults, errors.New("workload: want either a command to run or a duration, or processes to watch"))
	}
	if w.Duration < 0 {
		faults = append(faults, fmt.Errorf("workload duration %v: want above 0", w.Duration))
	}
	if w.Interval < 0 {
		faults = append(faults, fmt.Errorf("workload interval %v: want 0 (the source's choice) or more", w.Interval))
	}
	return errors.Join(faults...)
}

// Wait runs the command once, waits for the processes, or waits for the duration.
// It returns the error of the command or of ctx.
func (w Workload) Wait(ctx context.Context) error {
	switch {
	case w.Run != nil:
		return w.Run(ctx)
	case w.Processes != nil && w.Duration == 0:
		return w.Processes.Wait(ctx)
	case w.Processes != nil:
		limited, cancel := context.WithTimeout(ctx, w.Duration)
		defer cancel()
		if err := w.Processes.Wait(limited); err != nil && limited.Err() == nil {
			return err
		}
		return context.Cause(ctx) // nil when only the duration has passed
	}
	timer := time.NewTimer(w.Duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
