package pausing

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/internal/sysfile"
)

// inGroup lists the living processes of a process group.
func inGroup(t *testing.T, group int) []int {
	t.Helper()
	all, err := sysfile.Numbers(os.DirFS("/proc"), ".")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, pid := range all {
		if st, err := readStat(pid); err == nil && st.Group == group && !st.Ended() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// wantPaused checks that a process was asked to stop and does not run. One that was blocked
// in the kernel may have woken since then, and stops as soon as it gets a CPU.
func wantPaused(t *testing.T, g *Group, pid int) {
	t.Helper()
	if st, err := readStat(pid); err == nil && !g.brake.(*signals).isMember(pid) {
		t.Errorf("process %d, child of %d, was not found", pid, st.Parent)
		return
	}
	waitFor(t, fmt.Sprintf("the stop of process %d", pid), func() bool { return strings.Trim(states(t, pid), "TDZ") == "" })
}

// Processes that start others all the time are paused with all of them.
func TestForks(t *testing.T) {
	// Fifteen shells, each starting one short process after another, and some that
	// start two generations.
	script := `
grow() {
	if [ $1 -gt 0 ]; then grow $(($1 - 1)) & grow $(($1 - 1)) & fi
	while :; do (:); (sleep 0.001 & wait); done
}
echo ready
grow 3`
	cmd := exec.Command("sh", "-c", script)
	started(t, cmd)
	pid := cmd.Process.Pid
	waitFor(t, "fifteen shells", func() bool { return len(inGroup(t, pid)) >= 15 })
	g := group(t, pid)
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		for _, p := range inGroup(t, pid) {
			wantPaused(t, g, p)
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range inGroup(t, pid) {
		if letters := states(t, p); strings.Contains(letters, "T") {
			t.Errorf("process %d was left %s", p, letters)
		}
	}
}

// A process is followed when it becomes another program, and when its parent ends.
func TestFollows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	cmd := exec.Command("sh", "-c", `while [ ! -e "$0" ]; do sleep 0.01; done && exec sleep 300 & echo ready; wait`, file)
	started(t, cmd)
	parent := cmd.Process.Pid
	child := childOf(t, parent)
	g := group(t, parent)
	if err := errors.Join(g.Pause(), g.Continue(), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the other program", func() bool { st, err := readStat(child); return err == nil && st.Name == "sleep" })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the parent", func() bool { return strings.Trim(states(t, parent), "Z") == "" })
	for range 3 {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		wantStopped(t, child)
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
		wantRunning(t, child)
	}
}

// A process that was started since the last pause, and whose parent has ended since, is found
// by its session, whether the leader of that has ended or not.
func TestFindsOrphans(t *testing.T) {
	const script = `while [ ! -e "$0.go" ]; do sleep 0.01; done; (sleep 300 & echo $! > "$0.new"); mv "$0.new" "$0"; ` + spin
	for _, test := range []struct {
		name, script string
		ends         bool
	}{
		{"of a member", "echo ready; " + script, false},
		{"of one that has ended", "(" + script + ") & echo ready; wait", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "orphan")
			cmd := exec.Command("sh", "-c", test.script, file)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			started(t, cmd)
			leader := cmd.Process.Pid
			if test.ends {
				childOf(t, leader)
			}
			g := group(t, leader)
			if test.ends {
				_ = unix.Kill(leader, unix.SIGKILL)
				waitFor(t, "the end of the leader", func() bool { return strings.Trim(states(t, leader), "Z") == "" })
			}
			if err := errors.Join(g.Pause(), g.Continue(), os.WriteFile(file+".go", nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			orphan := 0
			waitFor(t, "the orphan", func() bool {
				data, _ := os.ReadFile(file)
				orphan, _ = strconv.Atoi(strings.TrimSpace(string(data)))
				return orphan > 0
			})
			if st, err := readStat(orphan); err != nil || st.Session != leader || g.brake.(*signals).isMember(st.Parent) {
				t.Fatalf("it is no orphan: %+v, %v", st, err)
			}
			wantPausedWith(t, g, orphan)
			wantPausedWith(t, g, orphan)
		})
	}
}

// TestFindsOrphansOfSessions has a descendant that leads a session. The parent of the orphan
// in it has ended before the first look.
func TestFindsOrphansOfSessions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orphan")
	const inner = `(sleep 300 & echo $! > "$0"); echo ready; exec sleep 300`
	cmd := exec.Command("sh", "-c", `setsid sh -c '`+inner+`' "$0" & wait`, file)
	started(t, cmd)
	g := group(t, cmd.Process.Pid)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	st, err := readStat(orphan)
	if err != nil || g.brake.(*signals).isMember(st.Parent) {
		t.Fatalf("it is no orphan: %+v, %v", st, err)
	}
	t.Cleanup(func() { _ = unix.Kill(-st.Session, unix.SIGKILL) })
	wantPausedWith(t, g, orphan)
}

// wantPausedWith pauses and continues a group, and checks that a process does the same.
func wantPausedWith(t *testing.T, g *Group, pid int) {
	t.Helper()
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	wantPaused(t, g, pid)
	if err := g.Continue(); err != nil {
		t.Fatal(err)
	}
	wantRunning(t, pid)
}

// The caller of vfork waits in the kernel until its child becomes another program,
// which a paused one does not.
func TestVfork(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		requires.Unmet(t, "needs python3, whose subprocess module calls vfork")
	}
	cmd := exec.Command(python, "-c", `
import subprocess
print("ready", flush=True)
while True:
    subprocess.run(["true"])
`)
	started(t, cmd)
	g := group(t, cmd.Process.Pid)
	for range 50 {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		for _, p := range inGroup(t, cmd.Process.Pid) {
			wantPaused(t, g, p)
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
	}
}

// A thread that is blocked hides none that runs.
func TestBlockedBesideRunning(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		requires.Unmet(t, "needs python3, which calls posix_spawn")
	}
	// The child opens a pipe that has no writer before it becomes another program.
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", `
import ctypes, os, sys, threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
c = ctypes.CDLL(None)
actions, pid = ctypes.create_string_buffer(1024), ctypes.c_int()
c.posix_spawn_file_actions_init(actions)
c.posix_spawn_file_actions_addopen(actions, 3, sys.argv[1].encode(), os.O_RDONLY, 0)
print("ready", flush=True)
c.posix_spawn(ctypes.byref(pid), b"/bin/true", actions, None, (ctypes.c_char_p * 2)(b"true", None), None)
`, pipe)
	started(t, cmd)
	pid := cmd.Process.Pid
	waitFor(t, "a blocked thread", func() bool { return strings.HasPrefix(states(t, pid), "D") })
	st, err := readStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the other thread", func() bool {
		m := &member{identity: identity{pid: pid, pidfd: -1}, start: st.Start}
		seen, err := m.look()
		return err == nil && seen == sawRunning
	})
	g := group(t, pid)
	s := g.brake.(*signals)
	m := s.byPID[pid]
	s.dog.page.enter(&s.dog.page.slots[m.slot].state, released)
	m.stopThreads(s.dog.page)
	if strings.Contains(states(t, pid), "T") || m.asked {
		t.Error("threads were stopped that the watchdog had continued")
	}
	s.dog.page.slots[m.slot].state.Store(running)
	for range 20 {
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		if letters := states(t, pid); strings.Trim(letters, "TD") != "" {
			t.Errorf("process %d is %s", pid, letters)
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
	}
}

// A process whose first thread has ended runs on in the others.
func TestFindsWithoutFirstThread(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		requires.Unmet(t, "needs python3, whose first thread can end")
	}
	parent := shell(t, `python3 -c '
import ctypes, threading
def spin():
    while True: pass
threading.Thread(target=spin).start()
ctypes.CDLL(None).pthread_exit(None)
' & echo ready; wait`).Process.Pid
	child := childOf(t, parent)
	waitFor(t, "the end of the first thread", func() bool { return strings.HasPrefix(states(t, child), "Z") })
	g := group(t, parent)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the stop", func() bool { return strings.Trim(states(t, child), "TZ") == "" })
	if err := g.Continue(); err != nil {
		t.Fatal(err)
	}
}

// The numbers of processes begin anew when they have reached their limit. Then, and
// when many processes were started, all are listed.
func TestFindsWhateverTheLastNumber(t *testing.T) {
	pid := shell(t, "sleep 300 & echo ready; wait").Process.Pid
	child := childOf(t, pid)
	last := lastNumber()
	if last == 0 {
		t.Fatal("the last number is unknown")
	}
	for _, settled := range []int{0, 1, child - 1, last + 1} {
		tree := treeOf([]int{pid})
		tree.settled = settled
		found, err := tree.findUntil(last, func(p int) bool { return p == pid })
		if err != nil || len(found) != 1 || found[0] != child {
			t.Errorf("since %d: found %d, %v; want %d", settled, found, err, child)
		}
	}
	quiet := treeOf([]int{pid})
	quiet.settled = child
	if found, err := quiet.findUntil(last, func(p int) bool { return p == pid }); err != nil || len(found) != 0 {
		t.Errorf("since the child: found %d, %v", found, err)
	}
}

// In containers of LXC another file lies over /proc/loadavg, whose last number does not follow
// those of the container.
func TestLastNumberOfAnotherFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loadavg")
	if err := os.WriteFile(file, []byte("0.20 0.18 0.12 1/80 11206\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if last := lastNumberIn(file); last != 0 {
		t.Errorf("took %d for the last number", last)
	}
	pid := shell(t, "while :; do sleep 0.01; done & echo ready; wait").Process.Pid
	tree := treeOf([]int{pid})
	isMember := func(p int) bool { return p == pid }
	for range 2 {
		if found, err := tree.findUntil(lastNumberIn(file), isMember); err != nil || len(found) == 0 {
			t.Errorf("found %d, %v; want the child", found, err)
		}
		tree.settle()
	}
}

func TestWithoutPidfd(t *testing.T) {
	pid := shell(t, "echo ready; "+spin).Process.Pid
	id := identity{pid: pid, pidfd: -1}
	if err := id.signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the stop", func() bool { return isStopped(t, pid) })
	if err := id.signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantRunning(t, pid)
	if !leadsThreads(pid) {
		t.Error("a process is taken for a thread")
	}
	threaded := actor(t, "threads", "3").Process.Pid
	threads, err := sysfile.Numbers(os.DirFS(procPath(threaded, "task")), ".")
	if err != nil || len(threads) < 3 {
		t.Fatalf("threads %d, %v", threads, err)
	}
	last := threads[len(threads)-1]
	if leadsThreads(last) {
		t.Error("a thread is taken for a process")
	}
	if _, err := openIdentity(last); !errors.Is(err, ErrEnded) {
		t.Errorf("a thread opens as a process: %v", err)
	}
}

func TestReadStat(t *testing.T) {
	own, err := readStat(os.Getpid())
	if err != nil || own.Parent != os.Getppid() {
		t.Errorf("this process: %+v, %v", own, err)
	}
	thread, err := readStatFile(fmt.Sprintf("/proc/self/task/%d/stat", unix.Gettid()))
	if err != nil || thread.Parent != os.Getppid() {
		t.Errorf("this thread: %+v, %v", thread, err)
	}
	if _, err := readStat(1 << 30); !errors.Is(err, ErrEnded) {
		t.Errorf("no process: %v", err)
	}
}
