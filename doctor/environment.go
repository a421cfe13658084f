package doctor

import (
	"context"
	"io/fs"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

// Environment is how Examine reaches the machine. Host fills it for the machine
// this process runs on; tests fill it with fakes.
type Environment struct {
	// Sys and Proc are the roots of sysfs and procfs.
	Sys, Proc fs.FS
	// Machine reads the topology.
	Machine func() (*topology.Machine, error)
	// Allowed returns the CPUs this process may run on.
	Allowed func() (cpuset.CPUSet, error)
	// Pin tries to run on one CPU.
	Pin func(cpu int) error
	// BindMemory tries to take memory of one NUMA node.
	BindMemory func(node int) error
	// OpenSystemWide tries to open a perf event that counts everything on one
	// CPU, as counters outside the cores require.
	OpenSystemWide func(cpu int) error
	// Ticks tries what counts the work of programs.
	Ticks func() []ticks.Availability
	// RealTime tries to enter and leave real-time scheduling.
	RealTime func() error
	// Interruptions spins on a CPU for a while and reports the gaps.
	Interruptions func(ctx context.Context, cpu int, window time.Duration) (Interruptions, error)
	// Regime probes how near two CPUs are.
	Regime func(ctx context.Context, a, b int) (regime.Tag, error)
	// Pause is the time between two probes of the regime; 0 for none.
	Pause time.Duration
}

// Interruptions is the time that a spinning thread did not run.
type Interruptions struct {
	// Window is how long it was watched.
	Window time.Duration
	// Longest is the longest gap, Total the sum of all gaps that are too long
	// for the loop itself.
	Longest, Total time.Duration
}

// examination is what several findings need.
type examination struct {
	Environment
	ctx context.Context

	machine      *topology.Machine
	machineErr   error
	allowed      cpuset.CPUSet
	allowedErr   error
	placement    topology.Placement
	placementErr error
	// before is the CPU time when noise was looked at.
	before tasks.CPUTime
}

func newExamination(ctx context.Context, env Environment) *examination {
	x := &examination{Environment: env, ctx: ctx}
	x.allowed, x.allowedErr = env.Allowed()
	x.machine, x.machineErr = env.Machine()
	switch {
	case x.machineErr != nil:
		x.placementErr = x.machineErr
	case x.allowedErr != nil:
		x.placementErr = x.allowedErr
	default:
		x.placement, x.placementErr = x.machine.Place(topology.Request{Allowed: x.allowed})
	}
	return x
}
