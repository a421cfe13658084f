package pausing

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/internal/sysfile"
)

// waitForWatchdog waits until the watchdog of a pauser that has ended has ended as well,
// and so has given its lock back.
func waitForWatchdog(t *testing.T, pid int) {
	t.Helper()
	waitFor(t, "the end of the watchdog", func() bool {
		g, err := Processes(pid)
		if errors.Is(err, ErrBusy) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		return true
	})
}

// However a process ends that pauses another for an hour, this one runs again.
func TestEndOfThePauser(t *testing.T) {
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGSEGV} {
		t.Run(end.String(), func(t *testing.T) {
			pid := shell(t, "sleep 300 & echo ready; "+spin).Process.Pid
			child := childOf(t, pid)
			pauser := actor(t, "pause", strconv.Itoa(pid), "1h")
			wantStopped(t, pid)
			wantStopped(t, child)
			// As Ctrl-C does, to the whole process group.
			if err := unix.Kill(-pauser.Process.Pid, end); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the programs", func() bool { return !isStopped(t, pid) && !isStopped(t, child) })
			waitForWatchdog(t, pid)
			wantRunning(t, pid)
			wantRunning(t, child)
		})
	}
}

// A pause that lasts too long is ended, whatever its process does.
func TestDeadline(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	pauser := actor(t, "pause", strconv.Itoa(pid), "3s")
	if err := pauser.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the pauser", func() bool { return isStopped(t, pauser.Process.Pid) })
	waitFor(t, "the program", func() bool { return !isStopped(t, pid) })
	wantStopped(t, pauser.Process.Pid)
}

func TestTooLong(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	g := group(t, pid)
	// Long enough for a busy machine to stop one process.
	g.SetLongest(3 * time.Second)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the watchdog", func() bool { return !isStopped(t, pid) })
	if err := g.Continue(); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
	wantRunning(t, pid)
	// So soon that nothing can be stopped in time.
	g.SetLongest(time.Nanosecond)
	if err := g.Pause(); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
	wantRunning(t, pid)
}

func TestDeadlineOfFreezers(t *testing.T) {
	eachFreezer(t, func(t *testing.T, h hierarchy, folder string, pid int) {
		for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
			longest := map[syscall.Signal]string{syscall.SIGKILL: "1h", syscall.SIGSTOP: "3s"}[end]
			pauser := actor(t, "freeze", folder, longest)
			if err := pauser.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the thaw", func() bool { return !h.isFrozen(t, folder) })
			_ = pauser.Process.Kill()
			waitFor(t, "the end of the watchdog", func() bool {
				g, err := Cgroup(folder)
				return err == nil && g.Close() == nil
			})
			if h.isFrozen(t, folder) {
				t.Error("frozen again")
			}
		}
	})
}

// Nothing is paused without a watchdog.
func TestEndOfTheWatchdog(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	g := group(t, pid)
	if err := unix.Kill(watchdogOf(t, g), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-g.dog.ended
	if err := g.Pause(); err == nil || !strings.Contains(err.Error(), "watchdog") {
		t.Errorf("paused without a watchdog: %v", err)
	}
	wantRunning(t, pid)
}

func watchdogOf(t *testing.T, g *Group) int {
	t.Helper()
	pids, err := sysfile.Numbers(os.DirFS("/proc"), ".")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pids, func(pid int) bool {
		line, _ := os.ReadFile(procPath(pid, "cmdline"))
		st, err := readStat(pid)
		return err == nil && st.Parent == os.Getpid() && strings.HasPrefix(string(line), "bandmate-watchdog")
	})
	if i < 0 {
		t.Fatal("no watchdog")
	}
	return pids[i]
}

// The watchdog rests when no pause is made for a while, and wakes for the next.
func TestWatchdogRests(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	g := group(t, pid)
	waitFor(t, "rest", func() bool { return g.dog.page.header.awake.Load() == 0 })
	g.SetLongest(3 * time.Second)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the watchdog", func() bool { return !isStopped(t, pid) })
	if err := g.Continue(); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
}

// Killed at any moment, a process that pauses another again and again leaves it
// running.
func TestKilledAnyTime(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	pid := shell(t, "sleep 300 & echo ready; "+spin).Process.Pid
	child := childOf(t, pid)
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		pauser := actor(t, "pausing", strconv.Itoa(pid))
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Millisecond))))
		if err := pauser.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		waitForWatchdog(t, pid)
		wantRunning(t, pid)
		wantRunning(t, child)
	}
}

// Another user is told what helps.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		requires.Unmet(t, "needs root, to become another user")
	}
	root := exec.Command("sleep", "300")
	if err := root.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(root.Process.Kill(), root.Wait()) }()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), actorVariable+"=pause "+strconv.Itoa(root.Process.Pid)+" 1s")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "belongs to another user") || !strings.Contains(string(output), "CAP_KILL") {
		t.Errorf("it said %q, %v", output, err)
	}
	wantRunning(t, root.Process.Pid)
}

// A watchdog that was slow does not take a later pause for the one that it ended.
func TestSlowWatchdog(t *testing.T) {
	var state atomic.Uint32
	const later = 2<<stateBits | paused
	state.Store(1<<stateBits | paused)
	err := releaseOne(&state, false, func() error {
		if got := state.Load(); got != 1<<stateBits|releasing {
			t.Errorf("while it continues a process the state is %b", got)
		}
		state.Store(later)
		return nil
	})
	if err != nil || state.Load() != later {
		t.Errorf("the later pause is %b, %v", state.Load(), err)
	}
	if err := releaseOne(&state, false, func() error { return nil }); err != nil || state.Load() != 2<<stateBits|released {
		t.Errorf("after its release the later pause is %b, %v", state.Load(), err)
	}
	// What is running already is let alone, and what may be stopped is continued again.
	for s, want := range map[uint32]bool{running: false, pausing: true, released: false} {
		state.Store(s)
		done := false
		if err := releaseOne(&state, false, func() error { done = true; return nil }); err != nil || done != want {
			t.Errorf("state %b: continued is %v, %v", s, done, err)
		}
	}
}
