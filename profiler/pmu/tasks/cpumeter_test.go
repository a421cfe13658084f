package tasks

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The CPU time of processes grows while they work, and does not fall when they end.
func TestCPUMeter(t *testing.T) {
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done & while :; do :; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	}
	defer end()
	tree, err := OpenTree(os.DirFS("/proc"), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	c := NewCPUMeter(tree)
	last := 0.0
	for deadline := time.Now().Add(time.Minute); last < 0.2 || len(c.metered) < 2; time.Sleep(time.Millisecond) {
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		now, _, err := c.Read()
		if err != nil || now < last {
			t.Fatalf("%v after %v: %v", now, last, err)
		}
		last = now
		if time.Now().After(deadline) {
			t.Fatalf("%v s of CPU time of %d processes", last, len(c.metered))
		}
	}
	end()
	if err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	if after, _, err := c.Read(); err != nil || after < last {
		t.Errorf("%v after the end, %v before: %v", after, last, err)
	}
}

// listed are processes by their numbers.
type listed []int

func (l *listed) Threads() ([]int, error)  { return *l, nil }
func (*listed) Wait(context.Context) error { return nil }
func (*listed) String() string             { return "processes" }

// The time of ended processes counts once, whether they were found or not.
func TestCPUMeterOfChildren(t *testing.T) {
	own, children := map[int]time.Duration{1: 1}, map[int]time.Duration{}
	processes := &listed{1, 2, 3}
	c := NewCPUMeter(processes)
	c.ofProcess = func(pid int) (time.Duration, bool) {
		used, ok := own[pid]
		return used, ok
	}
	c.ofChildren = func(pid int) time.Duration { return children[pid] }
	want := func(what string, want time.Duration) {
		t.Helper()
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		if got, _, err := c.Read(); got != want.Seconds() || err != nil {
			t.Errorf("%s: %v s, %v; want %v", what, got, err, want)
		}
	}
	want("one process", 1)
	children[1] = 10
	want("a child ended that was never found", 11)

	own[2] = 5
	want("a child runs", 16)
	delete(own, 2)
	want("it ends", 16)
	children[1] += 7
	want("its parent has waited: it used 2 more", 18)

	own[2], own[3] = 5, 3
	want("a child and its own child", 26)
	delete(own, 3)
	children[2] = 4
	want("that has ended: it used 1 more", 27)
	delete(own, 2)
	children[1] += 9
	want("the child has ended", 27)

	// A process that has left is not read, and its end is noticed all the same.
	own[2], children[2] = 5, 0
	want("another child", 32)
	*processes = listed{1}
	own[2] = 6
	want("it is not one of the processes any more", 32)
	delete(own, 2)
	children[1] += 6
	want("its parent has waited: it used 1 more", 33)

	// Nobody waits for this one: other children count in full later.
	*processes = listed{1, 2}
	own[2] = 50
	want("a child that nobody will wait for", 83)
	delete(own, 2)
	want("it ends", 83)
	want("nothing", 83)
	children[1] += 4
	want("the parent has waited for another", 87)
}

// A real parent has the time of its children, whom it has waited for.
func TestWaitedFor(t *testing.T) {
	cmd := exec.Command("sh", "-c", "(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); echo done; read none")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := waitedFor(cmd.Process.Pid); got < 10*time.Millisecond || got > time.Minute {
		t.Errorf("%v of CPU time", got)
	}
	_ = in.Close()
	_ = cmd.Wait() // read fails
	if got := waitedFor(cmd.Process.Pid); got != 0 {
		t.Errorf("%v of CPU time of a process that has ended", got)
	}
}
