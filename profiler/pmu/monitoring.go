package pmu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/resctrl"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/units"
)

// Resctrl is the name of the source that reads resctrl's monitoring.
const Resctrl = "resctrl"

// monitoring counts what the caches of a group of tasks fetch from and write
// back to memory, by resctrl.
type monitoring struct{ host *Host }

var _ profiler.Source = monitoring{}

func (monitoring) Name() string { return Resctrl }

// Available looks whether resctrl is mounted and counts bandwidth, and whether a
// group can be made.
func (s monitoring) Available(context.Context) profiler.Availability {
	err := resctrl.Supported(s.host.Sys)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.notMounted()
	case errors.Is(err, resctrl.ErrNoBandwidth):
		return profiler.Availability{State: profiler.Unsupported, Reason: err.Error()}
	case err != nil:
		return profiler.Availability{State: profiler.Inconclusive, Reason: err.Error()}
	case s.host.Monitoring == nil:
		return profiler.Availability{State: profiler.Unsupported, Reason: "no monitoring group can be made here"}
	}
	group, err := s.create()
	if err == nil {
		err = s.host.Monitoring.Remove(group)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return profiler.Availability{
			State: profiler.Unsupported, Reason: fmt.Sprintf("this process may not make monitoring groups (%v)", err),
			Remedy: "run as root, or chown /sys/fs/resctrl/mon_groups and /sys/fs/resctrl/tasks",
		}
	case errors.Is(err, unix.ENOSPC):
		return profiler.Availability{
			State: profiler.Inconclusive, Reason: "all monitoring groups of the processor are in use",
			Remedy: "remove unused groups: rmdir /sys/fs/resctrl/mon_groups/NAME",
		}
	case err != nil:
		return profiler.Availability{State: profiler.Inconclusive, Reason: err.Error()}
	}
	return profiler.Availability{State: profiler.Usable}
}

func (s monitoring) notMounted() profiler.Availability {
	a := profiler.Availability{State: profiler.Unsupported, Reason: "the processor or the kernel does not offer it"}
	known, err := fs.ReadFile(s.host.Proc, "filesystems")
	if err == nil && strings.Contains(string(known), "\tresctrl\n") {
		a.Reason = "the processor and the kernel can do it, but it is not mounted"
		a.Remedy = "sudo mount -t resctrl resctrl /sys/fs/resctrl"
	}
	return a
}

// create makes a group in the class of this process, where what it starts is
// born.
func (s monitoring) create() (string, error) {
	place, err := s.host.Monitoring.PlaceOf(os.Getpid())
	if err != nil {
		return "", err
	}
	return s.host.Monitoring.Create(groupName(), place.Class)
}

// groupName returns a name that no other process and no earlier measurement uses.
func groupName() string {
	return fmt.Sprintf("bandmate-%d-%s", os.Getpid(), strconv.FormatInt(time.Now().UnixNano(), 36))
}

const noSplit = "resctrl does not separate reads from writes, and counts what caches exchange with memory, without devices (DMA)"

// Measure counts a command or processes, with all they start, in groups of their
// own, or everything.
func (s monitoring) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	return measured(ctx, s, w, func(interval time.Duration) (summary profiler.Summary, err error) {
		m := &monitored{sys: s.host.Sys, line: newTimeline(interval), scope: profiler.ScopeCores}
		var ours []string // to be removed
		defer func() {
			for _, group := range ours {
				err = errors.Join(err, s.host.Monitoring.Remove(group))
			}
		}()
		switch {
		case w.Run != nil:
			m.scope = profiler.ScopeCommand
			group, err := s.create()
			if err != nil {
				return profiler.Summary{}, err
			}
			ours = []string{group}
			m.groups = ours
			ctx = profiler.WithLaunchHook(ctx, s.joining(group))
		case w.Processes != nil:
			m.scope = profiler.ScopeProcesses
			var unattached int
			ours, unattached, err = s.gather(w.Processes)
			m.groups = ours
			if unattached > 0 {
				m.warnings = []string{fmt.Sprintf("%s kept starting threads: %d of them may be missing", w.Processes, unattached)}
			}
		default:
			m.groups, err = resctrl.AllTasks(s.host.Sys)
		}
		if err == nil {
			err = m.begin()
		}
		if err != nil {
			return profiler.Summary{}, err
		}
		elapsed, err := follow(ctx, w, interval, m.sample)
		if err != nil {
			return profiler.Summary{}, err
		}
		return m.summarize(elapsed)
	})
}

// joining moves the thread that starts a command into the group for that long:
// tasks are born into the group of their parent.
func (s monitoring) joining(group string) profiler.LaunchHook {
	return func() (func() error, error) {
		thread := unix.Gettid()
		place, err := s.host.Monitoring.PlaceOf(thread)
		if err != nil {
			return nil, err
		}
		if err := s.host.Monitoring.Join(group, thread); err != nil {
			return nil, err
		}
		return sync.OnceValue(func() error { return s.host.Monitoring.Return(place, thread) }), nil
	}
}

// gatherAttempts is how often to look for threads that are not in a group yet.
const gatherAttempts = 10

// errMonitored refuses to take processes out of another tool's group.
var errMonitored = fmt.Errorf("%w: in a monitoring group of another tool", profiler.ErrUnsupported)

// gather creates a group in each class that limits some threads of p, and moves all
// threads there. unattached is the number of threads left after gatherAttempts. The
// caller removes the groups, even after an error.
func (s monitoring) gather(p profiler.Processes) (groups []string, unattached int, err error) {
	name := groupName()
	ofClass := map[string]string{}
	gathered := map[int]bool{}
	for attempt := range gatherAttempts {
		threads, err := p.Threads()
		if err != nil {
			return groups, 0, err
		}
		if len(threads) == 0 && attempt == 0 {
			return groups, 0, fmt.Errorf("%s: %w", p, tasks.ErrEnded)
		}
		unattached = 0
		for _, thread := range threads {
			if gathered[thread] {
				continue
			}
			gathered[thread] = true
			unattached++
			place, err := s.host.Monitoring.PlaceOf(thread)
			if hasEnded(err) || strings.HasPrefix(place.Monitor, name) {
				continue // or it was born in our group
			}
			if err == nil && place.Monitor != "" {
				err = fmt.Errorf("thread %d of %s is %w, %s: read it there, or end that tool", thread, p, errMonitored, place.Monitor)
			}
			if _, made := ofClass[place.Class]; err == nil && !made {
				var group string
				if group, err = s.host.Monitoring.Create(fmt.Sprintf("%s-%d", name, len(groups)), place.Class); err == nil {
					groups = append(groups, group)
					ofClass[place.Class] = group
				}
			}
			if err != nil {
				return groups, 0, err
			}
			if err := s.host.Monitoring.Join(ofClass[place.Class], thread); err != nil && !hasEnded(err) {
				return groups, 0, err
			}
		}
		if unattached == 0 {
			break
		}
	}
	return groups, unattached, nil
}

func hasEnded(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrNotExist)
}

// monitored is the reading of some groups.
type monitored struct {
	sys    fs.FS
	groups []string
	// last are the totals at the time at.
	last []resctrl.Totals
	at   time.Duration
	// bytes were moved in the time counted.
	bytes   float64
	counted time.Duration
	gaps    int
	line    profiler.Timeline

	scope    profiler.Scope
	warnings []string
}

func (m *monitored) read() ([]resctrl.Totals, error) {
	all := make([]resctrl.Totals, len(m.groups))
	for i, g := range m.groups {
		var err error
		if all[i], err = resctrl.Read(m.sys, g); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// begin takes the totals to count from.
func (m *monitored) begin() (err error) {
	m.last, err = m.read()
	return err
}

// sample adds what was counted since the previous sample. A sample is left out
// while a domain has no value. Counting restarts where a domain has its first
// value, which can happen right after a group was created.
func (m *monitored) sample(elapsed time.Duration, _ bool) error {
	now, err := m.read()
	if err != nil {
		return err
	}
	var sum uint64
	for i := range now {
		for domain := range now[i] {
			if _, known := m.last[i][domain]; !known {
				m.last, m.at = now, elapsed
				m.gaps++
				return nil
			}
		}
		bytes, whole, err := resctrl.Difference(m.last[i], now[i])
		if err != nil {
			return err
		}
		if !whole {
			m.gaps++
			return nil
		}
		sum += bytes
	}
	if elapsed > m.at {
		m.line.Add(elapsed.Seconds(), units.Traffic{Read: units.Bandwidth(float64(sum) / (elapsed - m.at).Seconds())})
		m.bytes += float64(sum)
		m.counted += elapsed - m.at
		m.last, m.at = now, elapsed
	}
	return nil
}

func (m *monitored) summarize(elapsed time.Duration) (profiler.Summary, error) {
	if m.counted == 0 {
		return profiler.Summary{}, fmt.Errorf("%w: the processor had no value for the group (Unavailable) all the time; remove other monitoring groups, or measure for longer", profiler.ErrInconclusive)
	}
	s := profiler.Summary{
		Source: Resctrl, Seconds: elapsed.Seconds(), Traffic: units.Traffic{Read: units.Bandwidth(m.bytes / m.counted.Seconds())},
		Scope: m.scope, Timeline: m.line.Samples, Warnings: append([]string{noSplit}, m.warnings...),
	}
	if m.gaps > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("the processor had no value for the group in %d samples; they are left out or averaged with the next", m.gaps))
	}
	return s, nil
}
