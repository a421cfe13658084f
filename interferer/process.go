package interferer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// child is the process of an interferer, seen from its parent.
type child struct {
	pid  int
	kill func()
	// alive is the end of a pipe that the child sees closed when this process
	// ends.
	alive *os.File
	// first takes the first report.
	first chan report
	// asked says that the child was asked to end.
	asked atomic.Bool
	// ended is closed when the process is gone; fault is then why, nil if it
	// was asked to.
	ended chan struct{}
	fault error
}

// startChild runs this program as an interferer. The page's file is left open.
func startChild(config childConfig, page *os.File) (*child, error) {
	cmd, err := config.command()
	if err != nil {
		return nil, err
	}
	reports, reportsEnd, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	aliveEnd, alive, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe: %w", err), reports.Close(), reportsEnd.Close())
	}
	cmd.ExtraFiles = []*os.File{page, reportsEnd, aliveEnd}
	stderr := &tail{limit: 2000}
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		// Ctrl-C is for this process, which then closes the interferer. So is Ctrl-Z:
		// the interferer sleeps while this process is stopped.
		Setpgid: true,
	}
	waited, err := launch(cmd, cpuset.New(config.CPUs...))
	// These are the child's now.
	err = errors.Join(err, reportsEnd.Close(), aliveEnd.Close())
	if err != nil {
		return nil, errors.Join(err, reports.Close(), alive.Close())
	}
	c := &child{
		pid:   cmd.Process.Pid,
		kill:  func() { _ = cmd.Process.Kill() },
		alive: alive,
		first: make(chan report, 1),
		ended: make(chan struct{}),
	}
	go c.watch(reports, waited, stderr)
	return c, nil
}

// launch starts cmd on CPUs, so that not even its first thread runs elsewhere,
// and returns the channel for what Wait returns.
//
// The death of a parent is signaled when the thread ends that made the child
// (prctl(2), PR_SET_PDEATHSIG): so that thread waits for the child.
func launch(cmd *exec.Cmd, cpus cpuset.CPUSet) (<-chan error, error) {
	started, waited := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		before, err := topology.ThreadCPUs(0)
		if err == nil {
			err = confine(cpus)
		}
		if err != nil {
			runtime.UnlockOSThread()
			started <- err
			return
		}
		err = cmd.Start()
		// If the CPUs of before are gone, the thread is of no further use: a
		// locked one ends with its goroutine.
		if confine(before) == nil {
			defer runtime.UnlockOSThread()
		}
		if err != nil {
			started <- fmt.Errorf("start %s: %w", cmd.Path, err)
			return
		}
		started <- nil
		waited <- cmd.Wait()
	}()
	return waited, <-started
}

// watch follows the child to its end.
func (c *child) watch(reports io.ReadCloser, waited <-chan error, stderr *tail) {
	fault := c.listen(reports)
	exit := <-waited
	_, _ = reports.Close(), c.alive.Close()
	switch {
	case fault != nil:
		c.fault = fault
	case c.asked.Load():
	default:
		c.fault = unexpectedEnd(c.pid, exit, stderr.String())
	}
	close(c.ended)
}

// listen reads reports to their end and returns the fault that they tell.
func (c *child) listen(reports io.Reader) error {
	var fault error
	for decoder := json.NewDecoder(reports); ; {
		var r report
		if decoder.Decode(&r) != nil {
			// What the child died of is told by its exit.
			return fault
		}
		fault = cmp.Or(fault, r.fault())
		select {
		case c.first <- r:
		default:
		}
	}
}

// unexpectedEnd is the error of a child that ended without a report.
func unexpectedEnd(pid int, exit error, stderr string) error {
	var how *exec.ExitError
	hint := ""
	switch {
	case exit == nil:
		return fmt.Errorf("process %d ended at once: main has to call interferer.RunIfChild first", pid)
	case errors.As(exit, &how):
		if status, ok := how.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			hint = "; if it was for lack of memory (see dmesg), ask for smaller buffers"
		}
	}
	if stderr = strings.TrimSpace(stderr); stderr != "" {
		hint += "; its output: " + stderr
	}
	return fmt.Errorf("process %d ended unexpectedly: %w%s", pid, exit, hint)
}

// ready waits until the child can follow settings and returns its warnings.
func (c *child) ready(ctx context.Context) ([]string, error) {
	select {
	case r := <-c.first:
		if r.Ready {
			return r.Warnings, nil
		}
		<-c.ended
	case <-c.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, c.fault
}

// tail keeps the last bytes written.
type tail struct {
	limit int
	kept  bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if excess := t.kept.Len() - t.limit; excess > 0 {
		t.kept.Next(excess)
	}
	return len(p), nil
}

func (t *tail) String() string { return t.kept.String() }
