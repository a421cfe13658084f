package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/topology"
)

// stopGrace is how long a command may take to end after SIGTERM.
const stopGrace = 500 * time.Millisecond

// Command is a program to run.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the environment; nil inherits.
	Env []string
	// Dir is the working directory; empty inherits.
	Dir string
	// Iterations runs the program that many times in a row per sample, for
	// programs too short to time; 0 means 1.
	Iterations int
	// Output receives the program's output; nil discards standard output and
	// keeps the end of standard error for the error message.
	Output io.Writer
	// Timeout ends a run that takes longer; 0 means no limit.
	Timeout time.Duration
}

// String returns the command line, for messages.
func (c Command) String() string { return strings.Join(c.Args, " ") }

// Check fails with ErrCommand where there is no such program, or it may not be executed.
func (c Command) Check() error {
	_, err := exec.LookPath(c.Args[0])
	if fault, ok := errors.AsType[*exec.Error](err); ok {
		err = &fs.PathError{Op: "exec", Path: fault.Name, Err: fault.Err} // as where it is started
	}
	return c.explain(err, nil, 0, &tailBuffer{})
}

// ErrCommand is wrapped by every failure of the application itself.
var ErrCommand = errors.New("the command failed")

// ErrPlacement is wrapped when a command cannot run on the CPUs or the memory that were
// chosen for it.
var ErrPlacement = errors.New("cannot run there")

// errTimeout is the cause of a context that Command.Timeout ended.
var errTimeout = errors.New("timeout of the command")

// Execution is one run of a command from start to end.
type Execution struct {
	// Wall is the time of all iterations.
	Wall time.Duration
	// Spans are the times at which it ran, one for each iteration.
	Spans []Span
}

// Span is a stretch of time.
type Span struct{ From, To time.Time }

// Overlap returns the time that two spans have in common.
func (s Span) Overlap(other Span) time.Duration {
	from, to := s.From, s.To
	if other.From.After(from) {
		from = other.From
	}
	if other.To.Before(to) {
		to = other.To
	}
	return max(to.Sub(from), 0)
}

// Launcher starts commands on chosen CPUs and memory and leaves no process behind.
// Its methods may be called concurrently.
type Launcher struct {
	mu sync.Mutex
	// known are the child processes that should be running.
	known map[int]bool
	// runs are the numbers of the commands that have not ended, and last is that of the
	// last one.
	runs map[int]bool
	last int

	guard   *guard
	reserve reserve
}

// Know makes a child process one that is to go on running when commands end.
func (l *Launcher) Know(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[pid] = true
}

// Forget takes back Know.
func (l *Launcher) Forget(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, pid)
}

// New returns a launcher. It makes this process the reaper of orphaned descendants, so that
// a command that forks away is noticed. Close it.
func New() (*Launcher, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopting orphaned processes: %w", err)
	}
	guard, err := startGuard()
	if err != nil {
		return nil, err
	}
	l := &Launcher{known: map[int]bool{guard.pid: true}, runs: map[int]bool{}, guard: guard}
	// Children of the script that has become this program.
	for _, child := range children() {
		l.known[child.PID] = true
	}
	return l, nil
}

// Close ends what commands have left running.
func (l *Launcher) Close() error {
	l.reserve.begin()
	return l.guard.close()
}

// Run executes c once per iteration on the CPUs, its memory bound to node. No CPUs
// mean all that this process may use; nil leaves memory unbound. It fails with
// ErrCommand, ErrPlacement or the context.
func (l *Launcher) Run(ctx context.Context, c Command, cpus cpuset.CPUSet, node *int) (Execution, error) {
	var total Execution
	for range max(c.Iterations, 1) {
		p, err := l.Start(ctx, c, cpus, node)
		if err != nil {
			return Execution{}, err
		}
		e, err := p.Wait()
		if err != nil {
			return Execution{}, err
		}
		total.Wall += e.Wall
		total.Spans = append(total.Spans, e.Spans...)
	}
	return total, nil
}

// Process is a started command.
type Process struct {
	PID int
	// Done is closed once the command and what it left running have ended.
	Done chan struct{}
	exec Execution
	err  error
}

// Kill ends the command at once, whatever it does.
func (p *Process) Kill() { _ = unix.Kill(-p.PID, unix.SIGKILL) }

// Wait returns how the command ran, once it has ended.
func (p *Process) Wait() (Execution, error) {
	<-p.Done
	return p.exec, p.err
}

// Start launches one run of c, as Run does. The goroutine keeps its thread until the
// command ends: the parent-death signal follows that thread.
func (l *Launcher) Start(ctx context.Context, c Command, cpus cpuset.CPUSet, node *int) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("no command given: put it after --, as in: bandmate onboard NAME -- CMD ARGS")
	}
	p := &Process{Done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.Done)
		runtime.LockOSThread()
		restore, err := bindThread(cpus, node)
		if err != nil {
			started <- err
			return
		}
		cancel := func() {}
		if c.Timeout > 0 {
			ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		}
		defer cancel()
		tail := &tailBuffer{}
		cmd := c.build(ctx, tail)
		run := l.begin()
		defer l.end(run)
		cmd.Env = l.guard.environment(c.Env, run)
		release, err := profiler.BeforeLaunch(ctx)
		if err != nil {
			started <- errors.Join(err, restore())
			return
		}
		l.reserve.begin()
		l.mu.Lock()
		begin := time.Now()
		err = cmd.Start()
		if err == nil {
			l.known[cmd.Process.Pid] = true
		}
		l.mu.Unlock()
		restoreErr := errors.Join(release(), restore())
		if err != nil {
			started <- c.explainStart(err, endOf(ctx))
			return
		}
		p.PID = cmd.Process.Pid
		l.reserve.started(p.PID, c.String())
		started <- restoreErr
		err = cmd.Wait()
		// What ends the context later did not end the command.
		ended := endOf(ctx)
		p.exec.Wall = time.Since(begin)
		p.exec.Spans = []Span{{begin, begin.Add(p.exec.Wall)}}
		left := l.reap(run, p.PID)
		l.reserve.ended(p.PID, c.String(), cmd.ProcessState.SysUsage(), !profiler.IsCounted(ctx))
		p.err = c.explain(err, ended, left, tail)
		if restoreErr == nil {
			runtime.UnlockOSThread()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (c Command) build(ctx context.Context, tail *tailBuffer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	// A session of its own: the command cannot read the terminal, and all of
	// it can be signaled at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = tail
	if c.Output != nil {
		// One writer for both: their lines must not race.
		both := io.MultiWriter(tail, c.Output)
		cmd.Stdout, cmd.Stderr = both, both
	}
	cmd.Cancel = func() error {
		// One that is stopped, by a modulation or by others, acts on the signal only when it
		// is continued.
		defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGCONT) }()
		return unix.Kill(-cmd.Process.Pid, unix.SIGTERM)
	}
	cmd.WaitDelay = stopGrace
	return cmd
}

// explain returns the error of a run, with its remedy; nil for a complete run.
// ended is why its context had ended by then (endOf). A run that the caller ended
// does not count as a failure of the command.
func (c Command) explain(err, ended error, left int, tail *tailBuffer) error {
	switch {
	case errors.Is(ended, errTimeout) && err != nil:
		return fmt.Errorf("%w: %q was still running after %v: give it less work, or raise --timeout", ErrCommand, c.String(), c.Timeout)
	case ended != nil && !errors.Is(ended, errTimeout):
		return fmt.Errorf("%q was stopped with its caller: %w", c.String(), ended)
	case left > 0 && (err == nil || errors.Is(err, exec.ErrWaitDelay)):
		return fmt.Errorf("%w: %q ended but left %d process(es) running, which were stopped: run it in the foreground, so that its time is the time of its work", ErrCommand, c.String(), left)
	case err != nil:
		return fmt.Errorf("%w: %q: %w%s", ErrCommand, c.String(), err, tail.suffix())
	}
	return nil
}

// explainStart is explain for a run that did not start.
func (c Command) explainStart(err, ended error) error {
	if ended != nil {
		return c.explain(err, ended, 0, &tailBuffer{})
	}
	return fmt.Errorf("starting %q: %w", c.Args[0], err)
}

// endOf returns why a context has ended: errTimeout itself, or the context's error
// with its cause; nil while it has not ended.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil, errors.Is(err, cause):
		return err
	case errors.Is(cause, errTimeout):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// bindThread confines the calling thread, and the processes it starts, to cpus and
// to the memory of node. restore undoes it.
func bindThread(cpus cpuset.CPUSet, node *int) (restore func() error, err error) {
	before, err := topology.ThreadCPUs(0)
	if err != nil {
		return nil, err
	}
	if cpus.Size() > 0 {
		if err := topology.Confine(0, cpus); err != nil {
			return nil, fmt.Errorf("%w: binding to %w: choose CPUs that are online and allowed here (bandmate doctor lists them)", ErrPlacement, err)
		}
	}
	if node != nil {
		if err := setMemoryPolicy(unix.MPOL_BIND, *node); err != nil {
			return nil, bindingFault(*node, err)
		}
	}
	return func() error {
		if node != nil {
			if err := setMemoryPolicy(unix.MPOL_DEFAULT, -1); err != nil {
				return fmt.Errorf("restoring the memory policy: %w", err)
			}
		}
		if err := topology.Confine(0, before); err != nil {
			return fmt.Errorf("restoring the CPU affinity: %w", err)
		}
		return nil
	}, nil
}

// bindingFault explains why memory cannot be bound to a node.
func bindingFault(node int, err error) error {
	remedy := "choose a node with memory (bandmate doctor lists them)"
	if errors.Is(err, unix.EPERM) {
		remedy = "in a container, add CAP_SYS_NICE"
	}
	return fmt.Errorf("%w: binding memory to NUMA node %d: %w: %s", ErrPlacement, node, err, remedy)
}

func setMemoryPolicy(mode, node int) error {
	if node < 0 {
		return unix.SetMemPolicy(mode, nil)
	}
	var nodes unix.CPUSet
	nodes.Set(node)
	return unix.SetMemPolicy(mode, &nodes)
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ kept []byte }

const tailBytes = 2048

func (t *tailBuffer) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// suffix returns the last lines of the output, indented; empty without output.
func (t *tailBuffer) suffix() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "�"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-5):]
	return "\n  " + strings.Join(lines, "\n  ")
}
