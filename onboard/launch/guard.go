package launch

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/reexec"
	"bandmate.dev/bandmate/ticks"
)

const (
	// guardRole makes a process a guard, whose argument is the mark to look for.
	guardRole reexec.Role = "guard"
	// runEnvironment marks the processes of a Launcher and all their descendants,
	// whatever session or process group they move to: MARK.NUMBER, with the mark of the
	// guard and the number of the run.
	runEnvironment = "BANDMATE_RUN"
	// markEnd ends the mark.
	markEnd = "."
)

const (
	// sweepLimit bounds the time spent on processes that keep starting others.
	sweepLimit = 5 * time.Second
	// quietLooks is how many looks in a row have to find nothing, and lookPause the time
	// between two looks. One look may miss a process: in the middle of execve(2) it shows
	// no environment, and it may start after the look has passed its place in /proc.
	quietLooks = 25
	lookPause  = 2 * time.Millisecond
)

// guard is a process that outlives this one for a moment: when this process is
// killed, it ends all descendants of commands. The kernel's parent-death signal
// reaches only the commands themselves. A descendant that clears its environment
// escapes.
type guard struct {
	mark string
	pid  int
	// lifeline is a pipe whose other end the guard reads until this process ends.
	lifeline *os.File
	ended    chan struct{}
}

// RunIfGuard has to be among the first statements of main, and of TestMain, in
// every program that calls [New] or [Run]. In a process that they made
// it is the guard and does not return; in every other process it does nothing.
func RunIfGuard() {
	guardRole.Run(func(mark string) int {
		// Nothing is ever written: reading ends when the guarded process does.
		_, _ = io.Copy(io.Discard, os.Stdin)
		sweep(func() []int { return marked(mark) })
		ticks.RemoveAbandonedPages()
		return 0
	})
}

func startGuard() (*guard, error) {
	if guardRole.Taken() {
		return nil, errors.New("started from a guard: main has to call launch.RunIfGuard first")
	}
	end, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	g := &guard{mark: rand.Text(), lifeline: lifeline, ended: make(chan struct{})}
	cmd := guardRole.Command(g.mark)
	cmd.Stdin = end
	// What ends the process group or the session must not end the guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), end.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the guard of the commands: %w", err), lifeline.Close())
	}
	g.pid = cmd.Process.Pid
	go func() {
		// How it ended does not matter: no measurement depends on it.
		_ = cmd.Wait()
		close(g.ended)
	}()
	return g, nil
}

// environment adds the mark and the number of a run to the environment of its command; nil is
// this process's.
func (g *guard) environment(env []string, run int) []string {
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Clip(env), runEnvironment+"="+g.mark+markEnd+strconv.Itoa(run))
}

// close ends the guard, which ends the remaining processes of commands.
func (g *guard) close() error {
	err := g.lifeline.Close()
	<-g.ended
	return err
}

// sweep kills every process that look finds, until several looks in a row find none.
func sweep(look func() []int) {
	begin := time.Now()
	for quiet := 0; quiet < quietLooks && time.Since(begin) < sweepLimit; time.Sleep(lookPause) {
		quiet++
		for _, pid := range look() {
			quiet = 0
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// marked lists the processes with the mark.
func marked(mark string) []int {
	return processesWithEntry([]byte(runEnvironment + "=" + mark + markEnd))
}

// processesWithEntry lists the processes with an entry that begins so in the environment they
// were started with (proc_pid_environ(5): NAME=VALUE, each ended by a null
// byte; it is empty for a zombie).
func processesWithEntry(begin []byte) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environment, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			if bytes.HasPrefix(variable, begin) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
