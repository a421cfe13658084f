package tasks

import (
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// Places in ActivityEvents.
const (
	taskClock = iota
	contextSwitches
	instructions
)

// ActivityEvents are what a [profiler.Activity] is made of. The task clock is
// the same with and without the kernel's part: it is the time on a CPU.
func ActivityEvents() []Event {
	event := func(label string, kind uint32, config uint64) perf.Event {
		return perf.Event{Label: label, Type: kind, Code: sysfs.Code{config}}
	}
	return []Event{
		taskClock:       {Event: event("task-clock", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK)},
		contextSwitches: {Event: event("context-switches", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES), InKernel: true},
		instructions:    {Event: event("instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS)},
	}
}

// ActivityOf returns what counts of [ActivityEvents] say; nil when they say
// nothing.
func ActivityOf(counts []Count) *profiler.Activity {
	if len(counts) <= instructions {
		return nil
	}
	value := func(i int, scale float64) *float64 {
		if counts[i].Err != nil || counts[i].RunningShare < LeastRunningShare {
			return nil
		}
		return new(counts[i].Value * scale)
	}
	const nanosecond = 1e-9
	a := &profiler.Activity{
		CPUSeconds:      value(taskClock, nanosecond),
		ContextSwitches: value(contextSwitches, 1),
		Instructions:    value(instructions, 1),
	}
	a.InstructionsUserOnly = a.Instructions != nil && counts[instructions].UserOnly
	if a.CPUSeconds == nil && a.ContextSwitches == nil && a.Instructions == nil {
		return nil
	}
	return a
}
