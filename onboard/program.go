package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/ticks"
)

// program is a party that runs a command, again and again. It is paused unless
// it works; its CPUs then spin.
type program struct {
	session *Session
	command launch.Command
	source  ticks.Source
	cpus    cpuset.CPUSet
	// spinner keeps the CPUs busy while the program is paused, and beside those of the other
	// party while the program starts; empty where nothing is to be kept busy.
	spinner, beside interferers
	// completed counts the runs that ended by themselves.
	completed int

	// watch watches what the program holds of the caches, as holds; nil where nothing
	// counts that.
	watch func(pid int) (Occupancy, error)
	holds Occupancy

	// equal makes the ticks equal; nil leaves them as they are.
	equal *modulation.Trajectory
	// fine says that the count grows all the time, in steps of some microseconds.
	fine bool

	process *launch.Process
	run     *ticks.Run
	counter ticks.Counter
	clock   monotonic.Clock
	// unchanged is that of the last run.
	unchanged func(command string) error
}

// firstTick is how long a program may take from its start to its first tick.
const firstTick = time.Minute

// startPoll is how often a program that has just started is asked for ticks.
const startPoll = time.Millisecond

// mostStarts bounds the starts of a program that ends before its first tick. A
// busy machine may run all of a short program before its count is read twice.
const mostStarts = 5

// start starts the command, waits until its count grows, and pauses it. The error
// wraps ErrNoTicks if the command ended before, in every one of some attempts, and
// also ErrApart if part of it cannot be paused. After an error nothing of it runs.
func (p *program) start(ctx context.Context) error {
	for range mostStarts {
		err := p.yieldCPUs()
		if err == nil {
			err = p.launch(ctx)
		}
		if err == nil {
			err = p.awaitTicks(ctx)
		}
		if err == nil {
			err = cmp.Or(p.Switch(false), p.together())
		}
		if err == nil {
			return nil
		}
		err = errors.Join(err, p.stop())
		if !errors.Is(err, modulation.ErrEnded) {
			return err
		}
	}
	return p.endedUncounted()
}

// yieldCPUs leaves the CPUs to the program, which is to start, and has those of the other
// party spin: a hypervisor moves virtual CPUs that were idle for as long as a start takes.
func (p *program) yieldCPUs() error {
	return errors.Join(p.spinner.request(idling), p.beside.request(spinning))
}

func (p *program) endedUncounted() error {
	if p.unchanged != nil {
		if err := p.unchanged(p.command.String()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %q ended before its count had grown", ErrNoTicks, p.source.Name(), p.command.String())
}

// launch starts the command and opens its counter.
func (p *program) launch(ctx context.Context) error {
	run, err := p.source.Prepare()
	if err != nil {
		return err
	}
	command := p.command
	if len(run.Env) > 0 {
		if command.Env == nil {
			command.Env = os.Environ()
		}
		command.Env = append(slices.Clip(command.Env), run.Env...)
	}
	if run.Output != nil {
		if command.Output != nil {
			command.Output = io.MultiWriter(run.Output, command.Output)
		} else {
			command.Output = run.Output
		}
	}
	process, err := p.session.launcher.Start(ctx, command, p.cpus, p.session.Placement.MemoryNode)
	if err != nil {
		return errors.Join(err, run.Close())
	}
	p.process, p.run, p.unchanged = process, run, run.Unchanged
	if p.watch != nil {
		holds, err := p.watch(process.PID)
		if err != nil {
			return errors.Join(p.explain(err), p.stop())
		}
		p.holds = holds
	}
	if p.counter, err = run.Open(process.PID); err != nil {
		return errors.Join(p.explain(err), p.stop())
	}
	return nil
}

// awaitTicks returns when the count has grown.
func (p *program) awaitTicks(ctx context.Context) error {
	first, err := p.counter.Read()
	for begin := time.Now(); ; {
		if err != nil {
			return p.explain(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(begin) > firstTick {
			return fmt.Errorf("%w: %q made no progress (%s) in %v: choose another measure of progress", launch.ErrCommand, p.command.String(), p.source.Name(), firstTick)
		}
		pause(ctx, startPoll)
		var n float64
		if n, err = p.counter.Read(); err == nil && n > first {
			return nil
		}
	}
}

// explain returns why the program ended, if it failed, otherwise the error itself.
func (p *program) explain(err error) error {
	if !errors.Is(err, ticks.ErrEnded) && !errors.Is(err, tasks.ErrEnded) {
		return err
	}
	if _, failed := p.process.Wait(); failed != nil {
		return failed
	}
	return fmt.Errorf("%q: %w", p.command.String(), modulation.ErrEnded)
}

// Switch pauses or continues the whole process group of the command.
func (p *program) Switch(on bool) error {
	if on {
		if err := p.spinner.request(idling); err != nil {
			return err
		}
		return p.signal(unix.SIGCONT)
	}
	return errors.Join(p.signal(unix.SIGSTOP), p.spinner.request(spinning))
}

// ErrApart is wrapped, with ErrNoTicks, when a process of a program has left the
// process group that is paused.
var ErrApart = errors.New("it is not paused with the program")

// together returns an error that wraps ErrApart where a process of the command is in
// another process group, which Switch does not reach; nil where the command has ended.
func (p *program) together() error {
	tree, err := tasks.OpenTree(os.DirFS("/proc"), p.process.PID)
	if errors.Is(err, tasks.ErrEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	threads, err := tree.Threads()
	if err := errors.Join(err, tree.Close()); err != nil {
		return err
	}
	for _, id := range threads {
		// One that has no group has ended.
		if group, err := unix.Getpgid(id); err == nil && group != p.process.PID {
			return fmt.Errorf("%w: %q: process %d is in a process group of its own: %w: start the program itself, without timeout, setsid or mpirun", ErrNoTicks, p.command.String(), id, ErrApart)
		}
	}
	return nil
}

// cpuTime is what the first process of the command has used; 0 when it has ended.
func (p *program) cpuTime() time.Duration {
	used, _ := monotonic.ProcessTime(p.process.PID)
	return used
}

// signal signals the process group; one that has ended is told by Read.
func (p *program) signal(s unix.Signal) error {
	if p.process == nil {
		return nil
	}
	if err := unix.Kill(-p.process.PID, s); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signaling %q: %w", p.command.String(), err)
	}
	return nil
}

func (p *program) Read() (float64, time.Duration, error) {
	if p.process == nil {
		return 0, p.clock.Now(), modulation.ErrEnded
	}
	n, err := p.counter.Read()
	at := p.clock.Now()
	if err != nil {
		return n, at, p.explain(err)
	}
	if p.equal != nil {
		n = p.equal.Seconds(n)
	}
	return n, at, nil
}

// recording is a whole run of a program alone.
type recording struct {
	wall     time.Duration
	progress []modulation.Progress
	// count is the last one, read at the time at, and steps how often it was seen to
	// change.
	count float64
	at    time.Duration
	steps int
	// reads counts the readings.
	reads int
	// close are those between readings at most closeReadings apart, and finest those
	// between readings that followed each other at once.
	close, finest modulation.Steps
	// polls counts the other readings, and grown those before which the count had grown.
	polls, grown int
}

const (
	// closeReadings is how far apart two readings are between which few changes are
	// missed. A busy machine keeps the reader from its CPU for longer.
	closeReadings = time.Millisecond
	// awake is how long the reader does not sleep after it was kept from its CPU, so that
	// some readings are close.
	awake = time.Millisecond
	// enoughClose is how much time between close readings tells how often a count changes.
	enoughClose = 20 * time.Millisecond
	// atOnce is how far apart two readings are at most that follow each other at once.
	atOnce = 5 * time.Microsecond
	// finePerSecond is how often a fine count changes at least: a slice has hundreds of
	// changes. enoughFine is the time in which that shows, and mostlyFine the share of polls
	// that find the count grown, also in a program whose CPU others hold now and then.
	finePerSecond = 100_000
	enoughFine    = 200 * time.Microsecond
	mostlyFine    = 0.75
	// leastPerRun is the least number of steps in a run that slices are made for: as
	// many as three blocks hold.
	leastPerRun = 120
)

// rate returns how often the count changes per second.
func (r *recording) rate() float64 {
	if r.close.Seen() < enoughClose {
		return float64(r.steps) / r.wall.Seconds()
	}
	return r.close.Rate()
}

// fine reports whether the count grows all the time, in steps of some microseconds.
func (r *recording) fine() bool {
	return r.finest.Seen() >= enoughFine && r.finest.Rate() >= finePerSecond &&
		float64(r.grown) >= mostlyFine*float64(r.polls)
}

// perSecond is rate for slices. Where changes come in bunches, slices hold several, but a
// run has to hold some blocks. A fine count seems to come in bunches where others hold the
// program's CPU now and then.
func (r *recording) perSecond() float64 {
	if r.fine() {
		return r.finest.Rate()
	}
	if r.close.Seen() < enoughClose {
		return r.rate()
	}
	return min(r.rate(), max(r.close.PerSecond(), leastPerRun/r.wall.Seconds()))
}

// record runs the program alone beside spinning CPUs; again where a busy machine ran all of
// it before its count was read often enough to show its steps. The program must not have
// been started.
func (p *program) record(ctx context.Context) (r recording, err error) {
	for range mostStarts {
		r, err = p.recordOnce(ctx)
		if err == nil && r.reads < fewestTicks || errors.Is(err, modulation.ErrEnded) {
			continue
		}
		return r, err
	}
	if err != nil {
		err = p.endedUncounted()
	}
	return r, err
}

// recordOnce runs the program once. The error wraps ErrEnded where it ended before its count
// could be read.
func (p *program) recordOnce(ctx context.Context) (r recording, err error) {
	begin := p.clock.Now()
	if err := p.launch(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var awakeUntil time.Duration
	for {
		n, at, err := p.Read()
		switch {
		case errors.Is(err, modulation.ErrEnded):
			r.add(n, at-begin, true)
			e, err := p.process.Wait()
			if err == nil && r.steps == 0 && p.run.Unchanged != nil {
				err = p.run.Unchanged(p.command.String())
			}
			r.wall = e.Wall
			return r, err
		case err != nil:
			return r, err
		case ctx.Err() != nil:
			return r, ctx.Err()
		}
		if at-begin-r.at > closeReadings || r.steps > 0 && awakeUntil == 0 {
			awakeUntil = at + awake
		}
		r.add(n, at-begin, false)
		if at >= awakeUntil {
			p.clock.Sleep(recordPoll)
		}
	}
}

const (
	// recordPoll is how often the count is read.
	recordPoll = 200 * time.Microsecond
	// recordParts of the run so far are kept, so that a run of hours needs a few
	// megabytes.
	recordParts = 50_000
)

// add adds a count, and keeps it when the run has gone on since the last, or ends.
func (r *recording) add(count float64, at time.Duration, ended bool) {
	r.reads++
	kept := len(r.progress)
	changed := 0
	if kept > 0 && count != r.count {
		changed = 1
	}
	r.steps += changed
	gap := at - r.at
	if kept > 0 && gap <= closeReadings {
		r.close.Add(gap, changed > 0)
	} else {
		r.close.Missed()
	}
	if kept > 0 && gap <= atOnce {
		r.finest.Add(gap, changed > 0)
	} else {
		r.polls++
		r.grown += changed
	}
	r.count, r.at = count, at
	if kept == 0 || ended || at.Seconds()-r.progress[kept-1].Seconds >= at.Seconds()/recordParts {
		r.progress = append(r.progress, modulation.Progress{Count: count, Seconds: at.Seconds()})
	}
}

func (p *program) Smooth() bool { return p.fine }

// again starts the program anew if it has ended.
func (p *program) again(ctx context.Context) error {
	if p.process == nil {
		return p.start(ctx)
	}
	select {
	case <-p.process.Done:
	default:
		return nil
	}
	if _, err := p.process.Wait(); err != nil {
		return err
	}
	p.completed++
	if err := p.release(); err != nil {
		return err
	}
	return p.start(ctx)
}

// stop ends the program.
func (p *program) stop() error {
	if p.process == nil {
		return nil
	}
	p.process.Kill()
	<-p.process.Done
	return p.release()
}

// release closes what belongs to the run that has ended.
func (p *program) release() error {
	var err error
	if p.counter != nil {
		err = p.counter.Close()
	}
	if p.holds != nil {
		err = errors.Join(err, p.holds.Close())
	}
	err = errors.Join(err, p.run.Close())
	p.process, p.run, p.counter, p.holds = nil, nil, nil, nil
	return err
}
