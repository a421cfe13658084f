package measure

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/topology"
)

// onCPU runs a function on a CPU, on a goroutine of its own as topology.RunOn
// requires.
func onCPU(cpu int, run func()) (err error) {
	var done sync.WaitGroup
	done.Go(func() { err = topology.RunOn(cpu, run) })
	done.Wait()
	return err
}

// each runs a function on every CPU at once.
func each(cpus []int, run func(i int)) error {
	errs := make([]error, len(cpus))
	var done sync.WaitGroup
	for i, cpu := range cpus {
		done.Go(func() { errs[i] = topology.RunOn(cpu, func() { run(i) }) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// together runs a function on every CPU, begun at once, and returns the time
// until the last has ended, with errDisturbed if other programs took a CPU.
func together(cpus []int, run func(i int)) (time.Duration, error) {
	var longest time.Duration
	var disturbed atomic.Bool
	err := inRounds(cpus, 1, nil, func(i, _ int, w *window) time.Duration {
		if w.elapsed() > lateness {
			disturbed.Store(true)
		}
		if _, alone := timed(func() { run(i) }); !alone {
			disturbed.Store(true)
		}
		return w.elapsed()
	}, func(_ int, took []time.Duration) { longest = slices.Max(took) })
	if err == nil && disturbed.Load() {
		err = errDisturbed
	}
	return longest, err
}

// lateness bounds the delay at the beginning of a thread that has its CPU.
const lateness = 20 * time.Microsecond

// timed returns how long a function takes on this thread, and whether the thread
// had its CPU all the time: whether the CPU time that the operating system
// accounts is the time by the clock.
func timed(run func()) (took time.Duration, alone bool) {
	const tolerated, reading = 50, 2 * time.Microsecond
	before := threadTime()
	begin := time.Now()
	run()
	took = time.Since(begin)
	return took, took-(threadTime()-before) <= took/tolerated+reading
}

// threadTime returns the CPU time of the calling thread; 0 if unknown.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// window is the clock of one thread in a round, which begins at an agreed moment.
type window struct {
	origin time.Time
	begin  time.Duration
}

// now returns the time since the first round was prepared.
func (w *window) now() time.Duration { return time.Since(w.origin) }

// elapsed returns the time since the round began.
func (w *window) elapsed() time.Duration { return w.now() - w.begin }

// rounds synchronizes threads between rounds. What one thread writes has a line to
// itself.
type rounds struct {
	// open is the number of the last round that may begin, from 1; aborted ends
	// the waiting for it.
	open    atomic.Int64
	aborted atomic.Bool
	_       [128]byte
	// begin is when it begins, since the origin; written before open.
	begin time.Duration
	_     [128]byte
	done  []roundEnd
}

// roundEnd is written by one thread: the number of rounds that it has ended, and
// how long the last one took.
type roundEnd struct {
	ended atomic.Int64
	took  time.Duration
	_     [112]byte
}

// spins is how often a thread looks before it yields its processor, which happens
// only where other programs take CPUs.
const spins = 1 << 12

// waitFor waits until a condition holds, or the rounds are aborted.
func (c *rounds) waitFor(holds func() bool) bool {
	for n := 1; !holds(); n++ {
		if c.aborted.Load() {
			return false
		}
		if n%spins == 0 {
			time.Sleep(time.Microsecond)
		}
	}
	return true
}

// inRounds runs a function on every CPU in so many rounds. Before each round the
// first thread calls prepare, unless nil, and announces a moment soon after at
// which all begin, like the windows of Ramos and Hoefler (section III.A). After the
// round the first thread calls after, unless nil, with the time that each thread
// reports. inRounds returns when all threads have ended; an error of one CPU ends
// all.
func inRounds(cpus []int, count int, prepare func(round int), run func(i, round int, w *window) time.Duration, after func(round int, took []time.Duration)) error {
	c := &rounds{done: make([]roundEnd, len(cpus))}
	origin := time.Now()
	errs := make([]error, len(cpus))
	var ready, ended sync.WaitGroup
	ready.Add(len(cpus))
	for i, cpu := range cpus {
		ended.Go(func() {
			ran := false
			errs[i] = topology.RunOn(cpu, func() {
				ran = true
				ready.Done()
				ready.Wait()
				w := &window{origin: origin}
				for round := range count {
					if i == 0 && !c.lead(round, prepare, w) || !c.take(i, round, w, run) {
						return
					}
					if i == 0 && c.allEnded(round) && after != nil {
						after(round, c.times())
					}
				}
			})
			if !ran { // let the others go, and end
				c.aborted.Store(true)
				ready.Done()
			}
		})
	}
	ended.Wait()
	return errors.Join(errs...)
}

// lead is the time between the announcement and the beginning of a round, in which
// it reaches the farthest thread.
const lead = 2 * time.Microsecond

// lead prepares a round and opens it.
func (c *rounds) lead(round int, prepare func(round int), w *window) bool {
	if c.aborted.Load() {
		return false
	}
	if prepare != nil {
		prepare(round)
	}
	c.begin = w.now() + lead + time.Duration(len(c.done))*lead/8
	c.open.Store(int64(round + 1))
	return true
}

// take waits for a round and takes part in it.
func (c *rounds) take(i, round int, w *window, run func(i, round int, w *window) time.Duration) bool {
	if !c.waitFor(func() bool { return c.open.Load() > int64(round) }) {
		return false
	}
	w.begin = c.begin
	for w.now() < w.begin { // at most some microseconds
	}
	c.done[i].took = run(i, round, w)
	c.done[i].ended.Store(int64(round + 1))
	return true
}

func (c *rounds) allEnded(round int) bool {
	for i := range c.done {
		if !c.waitFor(func() bool { return c.done[i].ended.Load() > int64(round) }) {
			return false
		}
	}
	return true
}

func (c *rounds) times() []time.Duration {
	took := make([]time.Duration, len(c.done))
	for i := range took {
		took[i] = c.done[i].took
	}
	return took
}
