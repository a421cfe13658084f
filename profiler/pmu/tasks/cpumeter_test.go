package tasks

import (
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
	for deadline := time.Now().Add(time.Minute); last < 0.2 || len(c.used) < 2; time.Sleep(time.Millisecond) {
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		now, _, err := c.Read()
		if err != nil || now < last {
			t.Fatalf("%v after %v: %v", now, last, err)
		}
		last = now
		if time.Now().After(deadline) {
			t.Fatalf("%v s of CPU time of %d processes", last, len(c.used))
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
