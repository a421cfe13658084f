package pausing

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/internal/sysfile"
)

func TestPausesAndContinues(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	g := group(t, pid)
	for range 20 {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		wantStopped(t, pid)
		if err := g.Pause(); err == nil {
			t.Error("paused twice")
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
		wantRunning(t, pid)
		if err := g.Continue(); err != nil {
			t.Errorf("continued twice: %v", err)
		}
	}
}

func TestCloseContinues(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	g := group(t, pid)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Error(err)
	}
	wantRunning(t, pid)
	if err := g.Pause(); err == nil {
		t.Error("paused after the end")
	}
}

func TestAllThreadsArePaused(t *testing.T) {
	pid := actor(t, "threads", "64").Process.Pid
	waitFor(t, "the threads", func() bool { return len(states(t, pid)) >= 64 })
	g := group(t, pid)
	for range 20 {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		if letters := states(t, pid); len(letters) < 64 || strings.Trim(letters, "T") != "" {
			t.Errorf("the threads are %s, want them all stopped", letters)
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
	}
	wantRunning(t, pid)
}

// What somebody else stopped stays stopped.
func TestStoppedByOthers(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) }()
	pid := cmd.Process.Pid
	g := group(t, pid)
	stop := func() {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	waitFor(t, "the stop", func() bool { return isStopped(t, pid) })
	if err := errors.Join(g.Pause(), g.Continue()); err != nil {
		t.Fatal(err)
	}
	wantStopped(t, pid)
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// In the middle of a pause, too.
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := g.Continue(); err != nil {
		t.Fatal(err)
	}
	wantStopped(t, pid)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	wantStopped(t, pid)
}

func TestEnded(t *testing.T) {
	cmd := shell(t, "echo ready; "+spin)
	g := group(t, cmd.Process.Pid)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { return strings.Trim(states(t, cmd.Process.Pid), "Z") == "" })
	if err := g.Continue(); err != nil {
		t.Errorf("continuing what was killed: %v", err)
	}
	if err := g.Pause(); !errors.Is(err, ErrEnded) {
		t.Errorf("pausing what was killed: %v, want %v", err, ErrEnded)
	}
	_ = cmd.Wait()
	if _, err := Processes(cmd.Process.Pid); !errors.Is(err, ErrEnded) {
		t.Errorf("a group of what was killed: %v, want %v", err, ErrEnded)
	}
	if _, err := Processes(); err == nil {
		t.Error("a group of nothing")
	}
}

func TestRefuses(t *testing.T) {
	kernel := 2 // kthreadd, in the first PID namespace
	if st, err := readStat(kernel); err != nil || st.Flags&kernelThread == 0 {
		kernel = 1
	}
	for _, pid := range []int{1, os.Getpid(), os.Getppid(), kernel} {
		g, err := Processes(pid)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("process %d: %v, want %v", pid, err, ErrRefused)
		}
		if err == nil {
			_ = g.Close()
		}
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := Processes(pid); !errors.Is(err, ErrEnded) {
			t.Errorf("process %d: %v, want %v", pid, err, ErrEnded)
		}
	}
}

// Parents that wait for a stopped child stop as well, and nobody continues them, or
// continue the child.
func TestRefusesForParent(t *testing.T) {
	for _, name := range []string{"script", "nsenter", "sg", "newgrp", "tmux: server", "screen"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.Symlink("/bin/sh", file); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(file, "-c", "sleep 300 & echo ready; wait")
			cmd.Args[0] = "sh" // it tells busybox what to be
			started(t, cmd)
			child := childOf(t, cmd.Process.Pid)
			if _, err := Processes(child); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), name) {
				t.Errorf("its child: %v, want %v that names it", err, ErrRefused)
			}
			group(t, cmd.Process.Pid)
		})
	}
}

// A shell would take a pause of what it runs in the foreground for Ctrl-Z, also one that was
// started from another shell. What a script runs there may be paused.
func TestRefusesForeground(t *testing.T) {
	for _, program := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			requires.Unmet(t, "needs %s: %v", program, err)
		}
	}
	const terminal = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--norc", "-i"])
for line in sys.argv[1:]:
    os.write(fd, line.encode() + b"\n")
print("ready", flush=True)
while True:
    os.read(fd, 4096)
`
	for _, c := range []struct {
		lines  []string
		refuse bool
	}{
		{[]string{"exec -a foreground sleep 300"}, false}, // in place of the shell
		{[]string{"sleep 300"}, true},
		{[]string{"bash --norc -i", "sleep 300"}, true},
		{[]string{"sh -c 'sleep 300; :'"}, false},
	} {
		cmd := exec.Command("python3", append([]string{"-c", terminal}, c.lines...)...)
		started(t, cmd)
		pid := 0
		waitFor(t, "the program", func() bool { pid = sleeping(t, cmd.Process.Pid); return pid != 0 })
		g, err := Processes(pid)
		if errors.Is(err, ErrRefused) != c.refuse || err != nil && !c.refuse {
			t.Errorf("%q: %v, want that it is refused: %v", c.lines, err, c.refuse)
		}
		if err == nil {
			_ = g.Close()
		}
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// sleeping returns the descendant that sleeps; 0 without one.
func sleeping(t *testing.T, root int) int {
	t.Helper()
	found, err := treeOf([]int{root}).findUntil(0, func(pid int) bool { return pid == root })
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range found {
		if st, err := readStat(pid); err == nil && st.Name == "sleep" {
			return pid
		}
	}
	return 0
}

func TestBusy(t *testing.T) {
	parent := shell(t, "sleep 300 & echo ready; wait")
	pid := parent.Process.Pid
	g := group(t, pid)
	if err := errors.Join(g.Pause(), g.Continue()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{pid, childOf(t, pid)} {
		if _, err := Processes(pid); !errors.Is(err, ErrBusy) {
			t.Errorf("process %d: %v, want %v", pid, err, ErrBusy)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	group(t, childOf(t, pid))
}

// childOf returns the only child of a process.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	child := 0
	waitFor(t, "a child", func() bool {
		pids, err := sysfile.Numbers(os.DirFS("/proc"), ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if st, err := readStat(pid); err == nil && st.Parent == parent {
				child = pid
			}
		}
		return child != 0
	})
	return child
}
