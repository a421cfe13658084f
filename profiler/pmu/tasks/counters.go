// Package tasks finds the threads of running processes and of cgroups, and
// counts what threads do on CPUs.
//
// A perf counter counts one thread. Every thread in /proc therefore gets a counter
// of its own, which the threads and processes that it starts later inherit.
package tasks

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
)

// Event is what to count of threads.
type Event struct {
	perf.Event
	// InKernel marks an event of the kernel alone. It is not counted where only
	// user space may be counted.
	InKernel bool
}

// LeastRunningShare is the share of the time below which a count is not extrapolated.
const LeastRunningShare = 0.05

// Count is what an event counted in all threads together.
type Count struct {
	// Value is extrapolated to the whole time where counters were multiplexed.
	Value float64
	// RunningShare is the lowest share of a thread's time in which it was
	// counted, 0 to 1; 1 when nothing ran.
	RunningShare float64
	// UserOnly is true where the kernel's part is not permitted, and missing.
	UserOnly bool
	// Err says why there is no count; nil when there is one.
	Err error
}

// Counters counts events in threads that are added to it. Close it. Its methods
// may be called at the same time.
type Counters struct {
	opener perf.Opener

	mu sync.Mutex
	// plans are the events, with what the kernel permitted so far.
	plans []plan
	// open are the groups of each plan.
	open [][]perf.Group
	// ended is what launches counted that have ended, endedCount how many these are.
	ended      []Count
	endedCount int
	// latest is reused for every reading.
	latest perf.CounterSample
}

// plan is how an event is counted.
type plan struct {
	Event
	err error // it cannot be counted
}

// NewCounters returns counters of events, of no thread yet.
func NewCounters(opener perf.Opener, events ...Event) *Counters {
	c := &Counters{opener: opener, open: make([][]perf.Group, len(events))}
	for _, e := range events {
		c.plans = append(c.plans, plan{Event: e})
	}
	return c
}

// AddLaunch counts what the calling thread starts from now on; see
// [perf.Opener.OpenCommand]. What was counted until then is kept, and no longer counted:
// the counters of a launch would count the next one of the same thread as well. An event
// that cannot be counted says so in [Counters.Counts].
func (c *Counters) AddLaunch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended, err := c.counts()
	if err != nil {
		return err
	}
	c.endedCount += c.opened()
	if err := c.closeOpen(); err != nil {
		return err
	}
	c.ended = ended
	groups, err := c.openEach(c.opener.OpenCommand)
	c.keep(groups)
	return err
}

// attempts is how often to start over while processes start threads.
const attempts = 10

// AddProcesses counts the running threads of p, and what they start from now on.
// A thread that appears while the counters are opened may be counted twice or not
// at all, so AddProcesses starts over until none appears; unattached is how many
// appeared in the last attempt. The error wraps [ErrEnded] when there is no thread.
func (c *Counters) AddProcesses(p profiler.Processes) (unattached int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := p.Threads()
	for attempt := 1; ; attempt++ {
		switch {
		case err != nil:
			return 0, err
		case len(before) == 0:
			return 0, fmt.Errorf("%s: %w", p, ErrEnded)
		}
		groups, err := c.openThreads(before)
		if err != nil {
			return 0, err
		}
		after, err := p.Threads()
		if err != nil {
			return 0, errors.Join(err, closeAll(groups))
		}
		unattached = appeared(before, after)
		if unattached == 0 || attempt == attempts {
			c.keep(groups)
			return unattached, nil
		}
		if err := closeAll(groups); err != nil {
			return 0, err
		}
		before = after
	}
}

// appeared counts what is in after and not in before.
func appeared(before, after []int) int {
	known := map[int]bool{}
	for _, t := range before {
		known[t] = true
	}
	n := 0
	for _, t := range after {
		if !known[t] {
			n++
		}
	}
	return n
}

// openThreads opens every event of every thread that has not ended, or none.
func (c *Counters) openThreads(threads []int) (groups [][]perf.Group, err error) {
	groups = make([][]perf.Group, len(c.plans))
	for _, thread := range threads {
		opened, err := c.openEach(func(e perf.Event) (perf.Group, error) { return c.opener.OpenThread(thread, e) })
		for i := range opened {
			groups[i] = append(groups[i], opened[i]...)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, errors.Join(err, closeAll(groups))
		}
	}
	return groups, nil
}

// openEach opens every event once, by open. An event that the kernel does not
// have, or does not permit, is not tried again. Any other error ends it.
func (c *Counters) openEach(open func(perf.Event) (perf.Group, error)) ([][]perf.Group, error) {
	groups := make([][]perf.Group, len(c.plans))
	for i := range c.plans {
		p := &c.plans[i]
		if p.err != nil {
			continue
		}
		g, err := open(p.Event.Event)
		if isForbidden(err) && !p.UserOnly && !p.InKernel {
			p.UserOnly = true
			g, err = open(p.Event.Event)
		}
		switch {
		case err == nil:
			groups[i] = append(groups[i], g)
		case isForbidden(err), isMissing(err):
			p.err = err
		default:
			return groups, err
		}
	}
	return groups, nil
}

func isForbidden(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// isMissing reports whether the kernel or the processor has no such event.
func isMissing(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV) ||
		errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

func (c *Counters) keep(groups [][]perf.Group) {
	for i, g := range groups {
		c.open[i] = append(c.open[i], g...)
	}
}

// Counts returns what each event counted so far, in the order of the events.
func (c *Counters) Counts() ([]Count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts()
}

func (c *Counters) counts() ([]Count, error) {
	counts := make([]Count, len(c.plans))
	for i, p := range c.plans {
		counts[i] = Count{RunningShare: 1, UserOnly: p.UserOnly, Err: p.err}
		if c.ended != nil {
			counts[i].Value, counts[i].RunningShare = c.ended[i].Value, c.ended[i].RunningShare
		}
		for _, g := range c.open[i] {
			if err := g.Read(&c.latest); err != nil {
				return nil, err
			}
			if c.latest.Enabled <= 0 {
				continue // not started yet, or it never ran
			}
			share := min(c.latest.Running.Seconds()/c.latest.Enabled.Seconds(), 1)
			counts[i].RunningShare = min(counts[i].RunningShare, share)
			if share > 0 {
				counts[i].Value += float64(c.latest.Values[0]) / share
			}
		}
	}
	return counts, nil
}

// Len is how many threads and launches were counted.
func (c *Counters) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endedCount + c.opened()
}

func (c *Counters) opened() int {
	n := 0
	for _, g := range c.open {
		n = max(n, len(g))
	}
	return n
}

// Close closes every counter, whatever fails.
func (c *Counters) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closeOpen()
}

func (c *Counters) closeOpen() error {
	err := closeAll(c.open)
	c.open = make([][]perf.Group, len(c.plans))
	return err
}

func closeAll(groups [][]perf.Group) error {
	var faults []error
	for _, of := range groups {
		for _, g := range of {
			faults = append(faults, g.Close())
		}
	}
	return errors.Join(faults...)
}
