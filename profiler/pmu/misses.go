package pmu

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/units"
)

// CacheMisses is the name of the source that counts misses of the last-level
// cache.
const CacheMisses = "llc-miss"

// misses counts last-level cache misses in the cores: a poor substitute for the
// counters of the memory controllers, and labeled as one.
type misses struct{ host *Host }

var _ profiler.Source = misses{}

const underestimate = "last-level cache misses × 64 bytes are an underestimate: most hardware prefetches and all write-backs are missing"

func missEvent() perf.Event {
	return perf.Event{Label: "cache-misses", Type: unix.PERF_TYPE_HARDWARE, Code: sysfs.Code{unix.PERF_COUNT_HW_CACHE_MISSES}}
}

func (misses) Name() string { return CacheMisses }

// Available opens the counter for programs of this thread.
func (s misses) Available(context.Context) profiler.Availability {
	event := missEvent()
	event.UserOnly = true // permitted to most
	g, err := s.host.Opener.OpenCommand(event)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENODEV) {
		a := profiler.Availability{State: profiler.Unsupported, Reason: "the cores have no hardware counters that the kernel can use"}
		if s.host.Machine.VirtualMachine {
			a.Reason = "this virtual machine has no hardware counters" + under(s.host.Machine.Hypervisor)
			a.Remedy = "give it a virtual PMU (QEMU: -cpu host,pmu=on), or use the source probe"
		}
		return a
	}
	if err == nil {
		err = g.Close()
	}
	if err != nil {
		return s.host.refused(err)
	}
	return profiler.Availability{State: profiler.Usable}
}

// Measure counts the misses of a command or of processes with what they start,
// or of all cores.
func (s misses) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	return measured(ctx, s, w, func(interval time.Duration) (profiler.Summary, error) {
		measure := s.everything
		if w.Run != nil || w.Processes != nil {
			measure = s.tasks
		}
		summary, err := measure(ctx, w, interval)
		summary.Source = CacheMisses
		summary.Warnings = append([]string{underestimate}, summary.Warnings...)
		return summary, err
	})
}

// everything counts on every CPU.
func (s misses) everything(ctx context.Context, w profiler.Workload, interval time.Duration) (summary profiler.Summary, err error) {
	var p plan
	for _, c := range s.host.Machine.CPUs {
		p.instances = append(p.instances, instance{
			name: fmt.Sprintf("cpu%d", c.ID), cpu: c.ID, socket: c.Socket,
			groups: [][]counted{{{Event: missEvent(), kind: catalog.Total, bytes: units.LineBytes}}},
		})
	}
	m, err := open(p, s.host.Opener, s.host.Sys)
	if err != nil {
		if a := s.host.refused(err); a.State == profiler.Unsupported {
			return profiler.Summary{}, a.Err()
		}
		return profiler.Summary{}, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	elapsed, line, err := m.follow(ctx, w, interval)
	if err != nil {
		return profiler.Summary{}, err
	}
	var total units.Traffic
	for _, l := range m.live {
		total = total.Add(l.groups[0].whole.traffic())
	}
	return profiler.Summary{Seconds: elapsed.Seconds(), Traffic: total, Scope: profiler.ScopeCores, Timeline: line.Samples}, nil
}

// tasks counts in what the workload starts, or in its running processes.
func (s misses) tasks(ctx context.Context, w profiler.Workload, interval time.Duration) (summary profiler.Summary, err error) {
	counters := tasks.NewCounters(s.host.Opener, tasks.Event{Event: missEvent()})
	defer func() { err = errors.Join(err, counters.Close()) }()
	scope, unattached := profiler.ScopeCommand, 0
	if w.Processes != nil {
		scope = profiler.ScopeProcesses
		if unattached, err = counters.AddProcesses(w.Processes); err != nil {
			return profiler.Summary{}, err
		}
	} else {
		ctx = profiler.WithLaunchHook(ctx, func() (func() error, error) {
			return func() error { return nil }, counters.AddLaunch()
		})
	}
	usage := cumulative{line: newTimeline(interval)}
	var latest tasks.Count
	elapsed, err := follow(ctx, w, interval, func(elapsed time.Duration, _ bool) error {
		counts, err := counters.Counts()
		if err != nil {
			return err
		}
		latest = counts[0]
		usage.reach(elapsed, latest.Value*units.LineBytes)
		return nil
	})
	if err != nil {
		return profiler.Summary{}, err
	}
	switch {
	case latest.Err != nil:
		return profiler.Summary{}, s.host.refused(latest.Err).Err()
	case counters.Len() == 0:
		return profiler.Summary{}, errors.New("the workload started no command that could be counted")
	case latest.RunningShare < tasks.LeastRunningShare:
		return profiler.Summary{}, fmt.Errorf("%w: the cores' counters were free for %.1f%% of the time; end other users of perf", errBarelyRan, 100*latest.RunningShare)
	}
	summary = profiler.Summary{
		Seconds: elapsed.Seconds(), Traffic: units.Traffic{Read: units.Bandwidth(usage.total / elapsed.Seconds())}, Scope: scope, Timeline: usage.line.Samples,
	}
	if latest.RunningShare < sharedCounters {
		summary.Warnings = append(summary.Warnings, fmt.Sprintf(multiplexed, 100*latest.RunningShare))
	}
	if latest.UserOnly {
		summary.Warnings = append(summary.Warnings, "misses in the kernel are not permitted to be counted, and missing")
	}
	if unattached > 0 {
		summary.Warnings = append(summary.Warnings, unattachedWarning(w.Processes, unattached))
	}
	return summary, nil
}

// cumulative turns a rising total into a time line.
type cumulative struct {
	line  profiler.Timeline
	total float64
	at    time.Duration
}

// reach takes the total at a time. A total that is extrapolated can fall a
// little; the sample is then zero.
func (c *cumulative) reach(elapsed time.Duration, total float64) {
	if elapsed > c.at {
		c.line.Add(elapsed.Seconds(), units.Traffic{Read: units.Bandwidth(max(total-c.total, 0) / (elapsed - c.at).Seconds())})
		c.at, c.total = elapsed, max(total, c.total)
	}
}
