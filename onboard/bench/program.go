package bench

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

// Program is a party that runs a command, again and again. It is paused unless
// it works; its CPUs then spin.
type Program struct {
	// Source counts its work.
	Source ticks.Source
	// Equal makes the ticks equal; nil leaves them as they are.
	Equal *modulation.Trajectory
	// Fine says that the count grows all the time, in steps of some microseconds.
	Fine bool
	// Completed counts the runs that ended by themselves.
	Completed int

	session *Session
	command launch.Command
	cpus    cpuset.CPUSet
	// spinner keeps the CPUs busy while the program is paused, and beside those of the other
	// party while the program starts; empty where nothing is to be kept busy.
	spinner, beside interferers

	// watch watches what the program holds of the caches, as holds; nil where nothing
	// counts that.
	watch func(pid int) (Occupancy, error)
	holds Occupancy

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

// Start starts the command, waits until its count grows, and pauses it. The error
// wraps ErrNoTicks if the command ended before, in every one of some attempts, and
// also ErrApart if part of it cannot be paused. After an error nothing of it runs.
func (p *Program) Start(ctx context.Context) error {
	for range mostStarts {
		err := p.yieldCPUs()
		if err == nil {
			err = p.launch(ctx)
		}
		if err == nil {
			err = p.AwaitTicks(ctx)
		}
		if err == nil {
			err = cmp.Or(p.Switch(false), p.together())
		}
		if err == nil {
			return nil
		}
		err = errors.Join(err, p.Stop())
		if !errors.Is(err, modulation.ErrEnded) {
			return err
		}
	}
	return p.endedUncounted()
}

// yieldCPUs leaves the CPUs to the program, which is to start, and has those of the other
// party spin: a hypervisor moves virtual CPUs that were idle for as long as a start takes.
func (p *Program) yieldCPUs() error {
	return errors.Join(p.spinner.request(idling), p.beside.request(spinning))
}

func (p *Program) endedUncounted() error {
	if p.unchanged != nil {
		if err := p.unchanged(p.command.String()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %q ended before its count had grown", ErrNoTicks, p.Source.Name(), p.command.String())
}

// WatchOccupancy has the program watched for what it holds of the last-level caches from its
// next start on, where the session can tell.
func (p *Program) WatchOccupancy() { p.watch = p.session.occupancy }

// Occupancy tells what the running program holds of the last-level caches; nil where nothing
// counts that.
func (p *Program) Occupancy() Occupancy { return p.holds }

// launch starts the command and opens its counter.
func (p *Program) launch(ctx context.Context) error {
	run, err := p.Source.Prepare()
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
			return errors.Join(p.explain(err), p.Stop())
		}
		p.holds = holds
	}
	if p.counter, err = run.Open(process.PID); err != nil {
		return errors.Join(p.explain(err), p.Stop())
	}
	return nil
}

// AwaitTicks returns when the count has grown.
func (p *Program) AwaitTicks(ctx context.Context) error {
	first, err := p.counter.Read()
	for begin := time.Now(); ; {
		if err != nil {
			return p.explain(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(begin) > firstTick {
			return fmt.Errorf("%w: %q made no progress (%s) in %v: choose another measure of progress", launch.ErrCommand, p.command.String(), p.Source.Name(), firstTick)
		}
		Pause(ctx, startPoll)
		var n float64
		if n, err = p.counter.Read(); err == nil && n > first {
			return nil
		}
	}
}

const (
	// pageTrial is the CPU time that a program may take to find its page, and
	// pagePatience the time where it waits or others hold its CPUs.
	pageTrial, pagePatience = time.Second, 10 * time.Second
)

// CountsItself reports whether the program, which must not have been started, counts into a
// page ([ticks.Page]).
func (p *Program) CountsItself(ctx context.Context) (counts bool, err error) {
	trial := *p
	trial.Source = ticks.Page{}
	err = trial.launch(ctx)
	if errors.Is(err, ticks.ErrUnavailable) || errors.Is(err, modulation.ErrEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, trial.Stop()) }()
	found := false
	for begin := p.clock.Now(); ctx.Err() == nil; Pause(ctx, startPoll) {
		n, at, err := trial.Read()
		if n > 0 {
			return true, nil
		}
		if errors.Is(err, modulation.ErrEnded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		found = found || trial.run.Found(trial.process.PID)
		if waited := at - begin; waited >= firstTick || !found && (trial.cpuTime() >= pageTrial || waited >= pagePatience) {
			return false, nil
		}
	}
	return false, ctx.Err()
}

// StepRate returns how often the count of the program, which is paused, grows in a second. The
// error wraps ErrNoTicks where the program ends before, again and again.
func (p *Program) StepRate(ctx context.Context) (float64, error) {
	for range mostStarts {
		if err := p.Switch(true); err != nil {
			return 0, err
		}
		n, err := modulation.StepRate(ctx, p.clock, func() (float64, error) {
			n, _, err := p.Read()
			return n, err
		})
		if !errors.Is(err, modulation.ErrEnded) {
			return n, errors.Join(err, p.Switch(false))
		}
		if err := p.Again(ctx); err != nil {
			return 0, err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: %s: %q ended before it was seen how often its count grows: give it more work", ErrNoTicks, p.Source.Name(), p.command.String())
}

// explain returns why the program ended, if it failed, otherwise the error itself.
func (p *Program) explain(err error) error {
	if !errors.Is(err, ticks.ErrEnded) && !errors.Is(err, tasks.ErrEnded) {
		return err
	}
	if _, failed := p.process.Wait(); failed != nil {
		return failed
	}
	return fmt.Errorf("%q: %w", p.command.String(), modulation.ErrEnded)
}

// Switch pauses or continues the whole process group of the command.
func (p *Program) Switch(on bool) error {
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
func (p *Program) together() error {
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
func (p *Program) cpuTime() time.Duration {
	used, _ := monotonic.ProcessTime(p.process.PID)
	return used
}

// signal signals the process group; one that has ended is told by Read.
func (p *Program) signal(s unix.Signal) error {
	if p.process == nil {
		return nil
	}
	if err := unix.Kill(-p.process.PID, s); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signaling %q: %w", p.command.String(), err)
	}
	return nil
}

// Read returns the work so far, in ticks or in equal ones, and when it was read. The error
// wraps modulation.ErrEnded where the command has ended.
func (p *Program) Read() (float64, time.Duration, error) {
	if p.process == nil {
		return 0, p.clock.Now(), modulation.ErrEnded
	}
	n, err := p.counter.Read()
	at := p.clock.Now()
	if err != nil {
		return n, at, p.explain(err)
	}
	if p.Equal != nil {
		n = p.Equal.Seconds(n)
	}
	return n, at, nil
}

// Smooth reports whether the count grows all the time.
func (p *Program) Smooth() bool { return p.Fine }

// Again starts the program anew if it has ended.
func (p *Program) Again(ctx context.Context) error {
	if p.process == nil {
		return p.Start(ctx)
	}
	select {
	case <-p.process.Done:
	default:
		return nil
	}
	if _, err := p.process.Wait(); err != nil {
		return err
	}
	p.Completed++
	if err := p.release(); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Stop ends the program.
func (p *Program) Stop() error {
	if p.process == nil {
		return nil
	}
	p.process.Kill()
	<-p.process.Done
	return p.release()
}

// release closes what belongs to the run that has ended.
func (p *Program) release() error {
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

// ErrNoTicks is wrapped when no count of an application's work can be used.
var ErrNoTicks = errors.New("no usable ticks")
