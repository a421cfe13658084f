package observe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/observing"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

const (
	// mostNeighbors is how many neighbors --all observes: those that work most.
	mostNeighbors = 16
	// busyTime is the least time in which --all detects busy processes.
	busyTime = time.Second
	// enoughBlocks are worth showing although the measurement ended early.
	enoughBlocks = 10
)

// running is what runs already: the target and its neighbors.
type running struct {
	app      *cli.App
	flags    observeFlags
	target   observedProgram
	pids     []int
	cpus     cpuset.CPUSet
	started  observing.Snapshot
	crowd    *observing.Crowd
	programs []observedProgram
	// neighbors are in the order of programs.
	neighbors []observing.Neighbor
	warnings  []string
}

// observeRunning observes what runs already.
func observeRunning(ctx context.Context, a *cli.App, f observeFlags) (err error) {
	source, err := f.progress.Source()
	if err != nil {
		return err
	}
	if _, isOutput := source.(ticks.Output); isOutput {
		return cli.Usagef("--progress counts in the output of a program that is started: want --progress-file, --progress-url or --progress-function with --pid and --cgroup")
	}
	r := &running{app: a, flags: f}
	if r.started, err = observing.TakeSnapshot(); err != nil {
		return err
	}
	if err := r.findTarget(); err != nil {
		return err
	}
	if err := r.findNeighbor(); err != nil {
		return err
	}
	r.crowd = observing.Watch(r.started, r.pids, r.cpus)
	progress := a.NewProgress()
	defer progress.Done()
	progress.Share(0, "detecting the progress of the target")
	counting, err := r.count(ctx, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counting.Close()) }()
	if f.beside.all {
		if err := r.findEverybody(ctx); err != nil {
			return err
		}
	}
	observer := &observing.Observer{
		Clock: monotonic.Clock{}, Random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
		Target: counting, Neighbors: r.neighbors, Duration: f.duration,
		Report: func(done float64) { progress.Share(done, "pausing neighbors for milliseconds") },
	}
	throttled := r.throttled()
	found, err := r.apart(func() (*observing.Result, error) { return observer.Run(ctx) })
	progress.Done()
	if errors.Is(err, observing.ErrStandsStill) {
		return adviseProgress(r.besideOthers(err), ofRunning)
	}
	if err != nil {
		return err
	}
	r.warnings = append(r.warnings, r.disturbed(throttled)...)
	result, err := r.result(found, counting.Name)
	if err != nil {
		return err
	}
	return a.Print(result, result.write(a))
}

// disturbed says what kept the target from its CPUs. Quotas had stopped it so often before.
func (r *running) disturbed(before uint64) (warnings []string) {
	if others := r.others(); others != "" {
		warnings = append(warnings, others)
	}
	if times := r.throttled(); times > before {
		warnings = append(warnings, fmt.Sprintf("a CPU quota of its control groups stopped the target in %d periods (cpu.stat, nr_throttled), which widens the intervals: raise the quota while you measure", times-before))
	}
	return warnings
}

// throttled returns how often quotas have stopped the target.
func (r *running) throttled() uint64 {
	var most uint64
	for _, pid := range r.pids {
		most = max(most, topology.Throttled(os.DirFS("/sys"), os.DirFS("/proc"), strconv.Itoa(pid)))
	}
	return most
}

// findTarget finds the processes of the target.
func (r *running) findTarget() error {
	f := r.flags.target
	if f.pid != 0 {
		p, ok := r.started.Processes[f.pid]
		switch {
		case !ok:
			return fmt.Errorf("--pid %d: no such process; list them with: ps -e", f.pid)
		case p.Kernel:
			return fmt.Errorf("--pid %d (%s): it is a thread of the kernel, whose work is not counted", f.pid, p.Name)
		}
		r.pids, r.target = []int{f.pid}, observedProgram{PID: f.pid, Command: observing.Command(p)}
	} else {
		pids, err := pausing.CgroupProcesses(f.cgroup)
		if err != nil {
			return fmt.Errorf("--cgroup: %w", err)
		}
		if r.pids = r.started.Roots(pids); len(r.pids) == 0 {
			return fmt.Errorf("--cgroup %s: no process is in it", f.cgroup)
		}
		r.target = observedProgram{Cgroup: f.cgroup}
	}
	var err error
	r.cpus, err = observing.CPUsOf(r.pids...)
	return err
}

// findNeighbor finds the neighbor that the flags name, and takes hold of it once,
// so that what forbids it is known at once.
func (r *running) findNeighbor() error {
	f := r.flags.beside
	var pids []int
	switch {
	case f.pid != 0:
		pids = []int{f.pid}
		p := r.started.Processes[f.pid]
		r.add(observedProgram{PID: f.pid, Command: observing.Command(p)}, p)
	case f.cgroup != "":
		all, err := pausing.CgroupProcesses(f.cgroup)
		if err != nil {
			return fmt.Errorf("--beside-cgroup: %w", err)
		}
		pids = all
		r.add(observedProgram{Cgroup: f.cgroup}, observing.Process{})
	default:
		return nil
	}
	if f.pid != 0 && r.started.Overlaps(pids, r.pids) {
		return fmt.Errorf("%s started the target: pausing it would pause both; observe the other one, or one that it started beside the target", r.programs[0])
	}
	if r.started.Overlaps(r.pids, pids) || overlaps(pids, r.pids) {
		return fmt.Errorf("%s is part of the target: want a neighbor outside it", r.programs[0])
	}
	held, err := r.neighbors[0].Open()
	if err != nil {
		return err
	}
	return held.Close()
}

func overlaps(a, b []int) bool {
	return slices.ContainsFunc(a, func(pid int) bool { return slices.Contains(b, pid) })
}

// add adds a neighbor. What is known of its process does not matter for a cgroup.
func (r *running) add(p observedProgram, process observing.Process) {
	r.programs = append(r.programs, p)
	r.neighbors = append(r.neighbors, observing.Neighbor{Name: p.String(), Open: func() (observing.Pauser, error) {
		group, err := p.hold(process)
		if err != nil {
			return nil, err
		}
		group.SetLongest(observing.Longest)
		return group, nil
	}})
}

// hold takes hold of the program to pause it: of its process, but of no later one with
// the same number.
func (p observedProgram) hold(process observing.Process) (*pausing.Group, error) {
	if p.Cgroup != "" {
		return pausing.Cgroup(p.Cgroup)
	}
	group, err := pausing.Processes(p.PID)
	if err != nil {
		return nil, err
	}
	// The group holds whoever had the number when it was opened.
	if !process.Lives() {
		return nil, errors.Join(fmt.Errorf("process %d: %w", p.PID, pausing.ErrEnded), group.Close())
	}
	return group, nil
}

// count opens the count of the target's work.
func (r *running) count(ctx context.Context, declared ticks.Source) (*observing.Counting, error) {
	sources := []ticks.Source{declared}
	if declared == nil {
		var err error
		if sources, err = observing.Find(ctx, r.pids); err != nil {
			return nil, r.explain(ctx, err)
		}
	}
	c, err := observing.Open(ctx, monotonic.Clock{}, sources, r.pids)
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	return c, nil
}

// explain adds a remedy to an error of the target's count.
func (r *running) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ticks.ErrEnded):
		return fmt.Errorf("%s ended before anything was measured: %w", r.target, err)
	case errors.Is(err, observing.ErrNoTicks), errors.Is(err, ticks.ErrUnavailable):
		return adviseProgress(r.besideOthers(err), ofRunning)
	}
	return err
}

// others says who uses the CPUs that the target waits for; empty where it hardly waits.
func (r *running) others() string {
	if r.crowd == nil {
		return "" // not watched yet
	}
	now, err := observing.TakeSnapshot()
	if err != nil {
		return ""
	}
	waited, who, crowded := r.crowd.Others(now)
	switch {
	case !crowded:
		return ""
	case len(who) == 0:
		return fmt.Sprintf("the target has more to do than its CPUs %s: its threads waited for them %.0f%% of the time: fewer threads give narrower intervals", r.cpus, 100*waited)
	}
	var names []string
	for _, w := range who {
		names = append(names, fmt.Sprintf("%s, %.2f CPUs", observedProgram{PID: w.PID, Command: observing.Command(w.Process)}, w.CPUs))
	}
	return fmt.Sprintf("the target waited %.0f%% of the time for its CPUs %s, which others use: %s: intervals are narrower where taskset -acp keeps others off them",
		100*waited, r.cpus, strings.Join(names, "; "))
}

// besideOthers adds to an error of the target's count who uses its CPUs.
func (r *running) besideOthers(err error) error {
	if others := r.others(); others != "" {
		return fmt.Errorf("%w; %s", err, others)
	}
	return err
}

// findEverybody finds the busy processes in the target's memory domain.
func (r *running) findEverybody(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(busyTime - time.Since(r.started.At)):
	}
	now, err := observing.TakeSnapshot()
	if err != nil {
		return err
	}
	machine, err := topology.ReadHost()
	if err != nil {
		return err
	}
	domain := observing.Domain(machine, r.cpus)
	workers := observing.Busy(r.started, now, r.pids, os.Getpid(), func(pid int) bool {
		cpus, err := observing.CPUsOf(pid)
		return err == nil && !cpus.Intersection(domain).IsEmpty()
	})
	if more := len(workers) - mostNeighbors; more > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("%d processes that work less than the others were left out", more))
		workers = workers[:mostNeighbors]
	}
	for _, w := range workers {
		r.add(observedProgram{PID: w.PID, Command: observing.Command(w.Process)}, w.Process)
	}
	return nil
}

// controlNice is the priority of the thread that pauses.
const controlNice = -19

// apart calls f on a thread of its own, which is kept off the target's CPUs where
// that is possible.
func (r *running) apart(f func() (*observing.Result, error)) (result *observing.Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with the goroutine, and its priority with it.
		runtime.LockOSThread()
		if allowed, failed := topology.AllowedCPUs(); failed == nil {
			if free := allowed.Difference(r.cpus); !free.IsEmpty() {
				// Otherwise the target loses some microseconds in each slice.
				_ = topology.Confine(0, free)
			}
		}
		// Without the permission the switches come later when others compete.
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), controlNice)
		result, err = f()
	}()
	<-done
	return result, err
}

// result says what was found. The error is that of the only neighbor, or says why
// nothing was measured.
func (r *running) result(found *observing.Result, counted string) (*Result, error) {
	result := newResult(r.target, counted, found.Elapsed)
	result.Warnings = append(result.Warnings, r.warnings...)
	blocks := 0
	for i, f := range found.Findings {
		n := f.Estimate.Readings
		blocks += n
		if f.Err != nil && !r.flags.beside.all && n < enoughBlocks {
			return nil, f.Err
		}
		if f.Err != nil {
			result.Warnings = append(result.Warnings, fmt.Sprintf("%s: %v", r.programs[i], f.Err))
		}
		switch {
		case n == 1:
			result.Warnings = append(result.Warnings, fmt.Sprintf("%s: a single block says nothing by itself: measure for longer, with --duration", r.programs[i]))
		case n == 0 && f.Err == nil:
			result.Warnings = append(result.Warnings, fmt.Sprintf("%s: it could not be paused in time: %s", r.programs[i], unmeasured(f)))
		}
		if n > 0 {
			result.Beside = append(result.Beside, newObservedNeighbor(r.programs[i], f.Estimate, f.PausedShare))
		}
	}
	switch {
	case found.Ended && blocks < enoughBlocks:
		return nil, fmt.Errorf("%s ended after %v: too soon to tell what others cost it", r.target, found.Elapsed.Round(time.Millisecond))
	case found.Ended:
		result.Warnings = append(result.Warnings, fmt.Sprintf("the target ended after %v", found.Elapsed.Round(time.Millisecond)))
	case blocks == 0 && !r.flags.beside.all:
		return nil, r.besideOthers(fmt.Errorf("%s could not be paused in %v for at most %.0f%% of its time: %s", r.programs[0], r.flags.duration, 100*observing.MostPaused, unmeasured(found.Findings[0])))
	}
	slices.SortStableFunc(result.Beside, func(a, b observedNeighbor) int { return compareDown(a.Slowdown, b.Slowdown) })
	result.control(found.Control)
	return result, nil
}

// unmeasured says why there is no reading of a neighbor, or what would give one.
func unmeasured(f observing.Finding) string {
	if f.Lost > 0 {
		return fmt.Sprintf("%d of its pauses failed, the last one because %v", f.Lost, f.Fault)
	}
	return "measure for longer, with --duration"
}
