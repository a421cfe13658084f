package regime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"bandmate.dev/bandmate/topology"
	"golang.org/x/sys/unix"
)

// patience is how long Probe waits for both CPUs at most: many scheduler slices
// of a few milliseconds, so that a CPU which somebody else keeps busy is still
// probed.
const patience = 200 * time.Millisecond

var (
	// ErrSameCPU is returned when a CPU is to be probed against itself.
	ErrSameCPU = errors.New("a CPU cannot be probed against itself")
	// ErrOffline is wrapped when a CPU is offline or does not exist.
	ErrOffline = errors.New("CPU is offline or does not exist")
	// ErrNotAllowed is wrapped when this process may not run on a CPU.
	ErrNotAllowed = errors.New("CPU is not allowed for this process")
	// ErrInconclusive is returned when the two CPUs did not run this process
	// together for long enough. Trying again may help.
	ErrInconclusive = errors.New("the two CPUs never ran at the same time for long enough to be probed")
)

// Probe measures the regime of two CPUs. It keeps both busy for 1 to 3 ms, for
// at most 200 ms where others compete for them, with one locked thread on each,
// whose affinity is put back afterwards.
//
// Errors: ErrSameCPU, ErrOffline, ErrNotAllowed, ErrInconclusive, and that of
// the context.
func Probe(ctx context.Context, a, b int) (Tag, error) {
	if a == b {
		return Tag{}, fmt.Errorf("CPU %d: %w: choose two CPUs", a, ErrSameCPU)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrInconclusive)
	defer cancel()
	var c court
	defer context.AfterFunc(ctx, func() { c.closed.Store(true) })()

	receiver := make(chan error, 1)
	go func() {
		err := on(b, c.answer)
		if err != nil {
			c.closed.Store(true)
		}
		receiver <- err
	}()
	var roundTrip time.Duration
	var played bool
	server := make(chan error, 1)
	go func() {
		err := on(a, func() { roundTrip, played = c.play() })
		if err != nil || !played {
			c.closed.Store(true)
		}
		server <- err
	}()
	if err := errors.Join(<-server, <-receiver); err != nil {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, err)
	}
	if !played {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, context.Cause(ctx))
	}
	return Tag{Class: Classify(roundTrip), RoundTrip: roundTrip}, nil
}

// on runs a function on one CPU and puts the thread's affinity back. A thread
// whose affinity cannot be put back stays locked, so that it ends with its
// goroutine.
func on(cpu int, run func()) error {
	runtime.LockOSThread()
	before := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	only := unix.NewCPUSet(maxCPUs)
	if cpu >= 0 {
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinityDynamic(0, only); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("CPU %d: %w", cpu, refusal(cpu, err))
	}
	run()
	if err := unix.SchedSetaffinityDynamic(0, before); err != nil {
		return fmt.Errorf("restoring the CPU affinity: %w", err)
	}
	runtime.UnlockOSThread()
	return nil
}

// maxCPUs is the highest CONFIG_NR_CPUS of any architecture.
const maxCPUs = 8192

// refusal tells an offline CPU from one outside the cpuset: the kernel answers
// both with EINVAL.
func refusal(cpu int, err error) error {
	if !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: allow sched_setaffinity in the sandbox: %w", ErrNotAllowed, err)
	}
	text, readErr := os.ReadFile("/sys/devices/system/cpu/online")
	if readErr != nil {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	online, parseErr := topology.ParseCPUs(string(text))
	if parseErr == nil && !online.Contains(cpu) {
		return fmt.Errorf("%w: choose from %s: %w", ErrOffline, online, err)
	}
	return fmt.Errorf("%w: widen its cpuset cgroup: %w", ErrNotAllowed, err)
}
