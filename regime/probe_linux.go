package regime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/topology"
)

// patience is how long Probe waits for both CPUs at most: many scheduler slices
// of a few milliseconds, so that a busy CPU is still probed.
const patience = 200 * time.Millisecond

var (
	// ErrSameCPU is returned when both CPUs are the same.
	ErrSameCPU = errors.New("a CPU cannot be probed against itself")
	// ErrInconclusive is returned when the two CPUs did not run this process
	// together for long enough. Trying again may help.
	ErrInconclusive = errors.New("the two CPUs did not run at the same time for long enough to be probed")
	// ErrOneProcessor is returned when the Go scheduler may use one CPU only.
	ErrOneProcessor = errors.New("this process runs Go on one CPU only: set GOMAXPROCS to 2 or more")
)

// Probe measures the regime of CPUs a and b. It keeps both busy for 1 to 4 ms, or for
// at most 200 ms where others compete for them, with one locked thread on each.
//
// The error wraps ErrSameCPU, ErrOneProcessor, topology.ErrOffline,
// topology.ErrNotAllowed, ErrInconclusive, or the cause of the context's end.
func Probe(ctx context.Context, a, b int) (Tag, error) {
	if a == b {
		return Tag{}, fmt.Errorf("CPU %d: %w: choose two CPUs", a, ErrSameCPU)
	}
	if runtime.GOMAXPROCS(0) < 2 {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, ErrOneProcessor)
	}
	if ctx.Err() != nil {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrInconclusive)
	defer cancel()
	var p pingPong
	defer context.AfterFunc(ctx, func() { p.stopped.Store(true) })()

	var roundTrip time.Duration
	var complete bool
	ended := make(chan error, 2)
	runOn := func(cpu int, turns func()) {
		err := topology.RunOn(cpu, turns)
		if err != nil {
			p.stopped.Store(true)
		}
		ended <- err
	}
	go runOn(a, func() { roundTrip, complete = p.initiate(time.Now) })
	go runOn(b, p.respond)
	if err := errors.Join(<-ended, <-ended); err != nil {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, err)
	}
	if !complete {
		return Tag{}, fmt.Errorf("probing CPUs %d and %d: %w", a, b, context.Cause(ctx))
	}
	return Tag{Class: Classify(roundTrip, complexes()), RoundTrip: roundTrip}, nil
}

// complexes reports whether sockets of this machine's processor consist of several core
// complexes. The vendor tells: a hypervisor passes it on, but describes other caches than
// there are. It does not change while the program runs.
var complexes = sync.OnceValue(func() bool {
	info, err := sysfile.CPUInfo(os.DirFS("/proc"))
	return err == nil && hasComplexes(info)
})

// hasComplexes tells that from the lines of /proc/cpuinfo. AMD has built complexes since
// Zen, and Hygon builds the first Zen.
func hasComplexes(info map[string]string) bool {
	return info["vendor_id"] == "AuthenticAMD" || info["vendor_id"] == "HygonGenuine"
}
