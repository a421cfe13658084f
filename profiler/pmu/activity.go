package pmu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// WithActivity returns a source that measures as s does and adds the activity of
// the command or the processes, if the kernel counts any.
//
// passes is the number of commands that one pass of the workload runs in sequence;
// 0 means 1. Of several passes, as the probe runs, the one with the least CPU time
// counts: it was disturbed least.
func WithActivity(s profiler.Source, h *Host, passes int) profiler.Source {
	return watched{Source: s, host: h, passes: max(passes, 1)}
}

type watched struct {
	profiler.Source
	host   *Host
	passes int
}

// Measure counts during the measurement of the source. A workload that is the
// whole machine has no activity.
func (s watched) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	var watch activityWatch
	switch {
	case w.Processes != nil:
		watch = &processActivity{host: s.host}
	case w.Run != nil:
		launches := &launchActivity{host: s.host, passes: s.passes}
		ctx = profiler.WithLaunchHook(ctx, launches.hook)
		watch = launches
	default:
		return s.Source.Measure(ctx, w)
	}
	w, err := watch.begin(w)
	if err != nil {
		return profiler.Summary{}, errors.Join(fmt.Errorf("measure with %s: %w", s.Name(), err), watch.close())
	}
	summary, err := s.Source.Measure(ctx, w)
	if err != nil {
		return profiler.Summary{}, errors.Join(err, watch.close())
	}
	activity, during, warnings, err := watch.end()
	if err := errors.Join(err, watch.close()); err != nil {
		return profiler.Summary{}, fmt.Errorf("measure with %s: %w", s.Name(), err)
	}
	summary.Activity = activity
	summary.Warnings = append(summary.Warnings, warnings...)
	if activity != nil && activity.CPUSeconds != nil && during.err == nil && watch.once() {
		other := max(during.busy-*activity.CPUSeconds, 0)
		activity.OtherCPUSeconds = &other
		if warning := othersWarning(summary, other, during.elapsed); warning != "" {
			summary.Warnings = append(summary.Warnings, warning)
		}
	}
	return summary, nil
}

// usage is the CPU time that the whole machine used in a span of time.
type usage struct {
	elapsed time.Duration
	busy    float64 // seconds
	err     error
}

// clock reads the usage since it was started.
type clock struct {
	host  *Host
	begun time.Time
	busy  float64 // seconds since the machine started
	err   error
}

func startClock(h *Host) clock {
	used, err := tasks.ReadCPUTime(h.Proc)
	return clock{h, time.Now(), used.Busy, err}
}

func (c clock) stop() usage {
	used, err := tasks.ReadCPUTime(c.host.Proc)
	return usage{time.Since(c.begun), used.Busy - c.busy, errors.Join(c.err, err)}
}

// othersShare is the share of one CPU above which other programs make a result that
// includes their traffic doubtful.
const othersShare = 0.05

// othersWarning warns of other programs when their traffic is in the result.
func othersWarning(s profiler.Summary, other float64, elapsed time.Duration) string {
	if s.Scope != profiler.ScopeMachine || !(other > othersShare*elapsed.Seconds()) {
		return ""
	}
	return fmt.Sprintf("other programs used %.3g s of CPU time, the measured one %.3g s; their traffic is in the result, so keep the machine otherwise idle, or use --source resctrl",
		other, *s.Activity.CPUSeconds)
}

// activityWatch counts what a workload does on CPUs.
type activityWatch interface {
	// begin returns the workload to measure instead.
	begin(w profiler.Workload) (profiler.Workload, error)
	// end returns the activity, nil when nothing could be counted, and the CPU
	// time of the whole machine in the same time.
	end() (*profiler.Activity, usage, []string, error)
	// once reports whether all of the time watched was one pass of the workload.
	once() bool
	close() error
}

// processActivity counts running processes while a source waits for them.
type processActivity struct {
	profiler.Processes
	host       *Host
	counters   *tasks.Counters
	unattached int

	counts []tasks.Count // what happened during the wait
	during usage
	err    error
}

func (p *processActivity) begin(w profiler.Workload) (profiler.Workload, error) {
	p.Processes = w.Processes
	p.counters = tasks.NewCounters(p.host.Opener, tasks.ActivityEvents()...)
	var err error
	p.unattached, err = p.counters.AddProcesses(w.Processes)
	w.Processes = p
	return w, err
}

func (p *processActivity) Wait(ctx context.Context) error {
	c := startClock(p.host)
	before, err := p.counters.Counts()
	if err != nil {
		return err
	}
	waited := p.Processes.Wait(ctx)
	p.counts, p.err = p.counters.Counts()
	p.during = c.stop()
	for i := range p.counts {
		p.counts[i].Value -= before[i].Value
	}
	return waited
}

func (p *processActivity) end() (*profiler.Activity, usage, []string, error) {
	if p.err != nil {
		return nil, usage{}, nil, p.err
	}
	var warnings []string
	if p.unattached > 0 {
		warnings = append(warnings, unattachedWarning(p.Processes, p.unattached))
	}
	return tasks.ActivityOf(p.counts), p.during, warnings, nil
}

func unattachedWarning(p profiler.Processes, threads int) string {
	return fmt.Sprintf("%s kept starting threads while counters were attached: %d of them may be counted twice or not at all", p, threads)
}

func (p *processActivity) once() bool   { return true }
func (p *processActivity) close() error { return p.counters.Close() }

// launchActivity counts commands from their start. The counters of one are read and
// closed when the next one starts.
type launchActivity struct {
	host   *Host
	passes int

	clock   clock
	mu      sync.Mutex
	current *tasks.Counters
	// done are the activities of the commands that have ended.
	done []*profiler.Activity
}

func (l *launchActivity) begin(w profiler.Workload) (profiler.Workload, error) {
	l.clock = startClock(l.host)
	return w, nil
}

// hook opens counters on the thread that is about to start a command.
func (l *launchActivity) hook() (func() error, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.finish(); err != nil {
		return nil, err
	}
	l.current = tasks.NewCounters(l.host.Opener, tasks.ActivityEvents()...)
	if err := l.current.AddLaunch(); err != nil {
		return nil, fmt.Errorf("counting the command: %w", err)
	}
	return func() error { return nil }, nil
}

// finish takes the counts of the latest command.
func (l *launchActivity) finish() error {
	if l.current == nil {
		return nil
	}
	counts, err := l.current.Counts()
	if err = errors.Join(err, l.current.Close()); err != nil {
		return err
	}
	l.current = nil
	l.done = append(l.done, tasks.ActivityOf(counts))
	return nil
}

func (l *launchActivity) end() (*profiler.Activity, usage, []string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.finish(); err != nil {
		return nil, usage{}, nil, err
	}
	return leastPass(l.done, l.passes), l.clock.stop(), nil, nil
}

func (l *launchActivity) once() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done) == l.passes
}

func (l *launchActivity) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil
	}
	return l.current.Close()
}

// leastPass adds commands up to passes of a workload and returns the pass with
// the least CPU time; nil when any command of all has none.
func leastPass(commands []*profiler.Activity, each int) *profiler.Activity {
	var least *profiler.Activity
	for len(commands) >= each {
		pass := &profiler.Activity{}
		for i, c := range commands[:each] {
			if c == nil || c.CPUSeconds == nil {
				return nil
			}
			first := i == 0
			pass.CPUSeconds = summed(pass.CPUSeconds, c.CPUSeconds, first)
			pass.Instructions = summed(pass.Instructions, c.Instructions, first)
			pass.ContextSwitches = summed(pass.ContextSwitches, c.ContextSwitches, first)
			pass.InstructionsUserOnly = pass.InstructionsUserOnly || c.InstructionsUserOnly
		}
		if least == nil || *pass.CPUSeconds < *least.CPUSeconds {
			least = pass
		}
		commands = commands[each:]
	}
	return least
}

// summed adds a number to a sum, which stays absent when any number is.
func summed(sum, number *float64, first bool) *float64 {
	switch {
	case number == nil, sum == nil && !first:
		return nil
	case sum == nil:
		return new(*number)
	}
	return new(*sum + *number)
}
