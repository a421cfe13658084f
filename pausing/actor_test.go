package pausing

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/sysfile"
)

// actorVariable makes the test's program play a part: the first word of its value,
// which the others explain.
const actorVariable = "BANDMATE_TEST_ACTOR"

func runIfActor() {
	words := strings.Fields(os.Getenv(actorVariable))
	if len(words) == 0 {
		return
	}
	if err := play(words[0], words[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play plays a part: "pause PID LONGEST" and "freeze CGROUP LONGEST" pause and say
// so; "pausing PID" pauses and continues without end; "threads N" runs threads of which each
// waits in the kernel or computes.
func play(part string, words []string) error {
	switch part {
	case "pausing":
		return playPausing(words[0])
	case "pause", "freeze":
		return playPause(part, words[0], words[1])
	case "threads":
		n, err := strconv.Atoi(words[0])
		if err != nil {
			return err
		}
		for i := range n {
			go func() {
				runtime.LockOSThread()
				for i%8 == 0 {
					time.Sleep(100 * time.Microsecond)
				}
				time.Sleep(time.Hour)
			}()
		}
		time.Sleep(10 * time.Millisecond)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	return errors.New("no such part: " + part)
}

func playPausing(target string) error {
	g, err := openTarget("pause", target)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if err := errors.Join(g.Pause(), g.Continue()); err != nil {
			return err
		}
	}
}

func playPause(part, target, longest string) error {
	g, err := openTarget(part, target)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(longest)
	if err != nil {
		return err
	}
	g.SetLongest(d)
	// Under nohup a hangup is ignored, and would end nobody.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		<-hangup
		os.Exit(1)
	}()
	if err := g.Pause(); err != nil {
		return err
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

func openTarget(part, target string) (*Group, error) {
	if part == "freeze" {
		return Cgroup(target)
	}
	pid, err := strconv.Atoi(target)
	if err != nil {
		return nil, err
	}
	return Processes(pid)
}

// actor starts this program with a part and waits until it says that it is ready.
func actor(t testing.TB, part ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), actorVariable+"="+strings.Join(part, " "))
	started(t, cmd)
	return cmd
}

// started starts a command, waits for a line "ready" and ends its process group
// after the test.
func started(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the process said %q, %v", line, err)
	}
}

// shell starts a script, which prints "ready".
func shell(t testing.TB, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	started(t, cmd)
	return cmd
}

const spin = "while :; do :; done"

// states returns the letters of the states of all threads of a process.
func states(t testing.TB, pid int) string {
	t.Helper()
	threads, err := sysfile.Numbers(os.DirFS(procPath(pid, "task")), ".")
	if err != nil {
		return ""
	}
	var letters strings.Builder
	for _, thread := range threads {
		if st, err := readStatFile(procPath(pid, "task/"+strconv.Itoa(thread)+"/stat")); err == nil {
			letters.WriteByte(st.State)
		}
	}
	return letters.String()
}

// isStopped reports whether every thread of a process is stopped.
func isStopped(t testing.TB, pid int) bool {
	t.Helper()
	letters := states(t, pid)
	return letters != "" && strings.Trim(letters, "T") == ""
}

func wantStopped(t testing.TB, pid int) {
	t.Helper()
	if !isStopped(t, pid) {
		t.Errorf("process %d is not stopped: its threads are %s", pid, states(t, pid))
	}
}

// wantRunning holds that no thread is stopped. SIGCONT takes effect before kill(2)
// returns.
func wantRunning(t testing.TB, pid int) {
	t.Helper()
	if letters := states(t, pid); letters == "" || strings.Contains(letters, "T") {
		t.Errorf("process %d does not run: its threads are %q", pid, letters)
	}
}

// patience is for a machine that does much else.
const patience = 30 * time.Second

func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// group returns a group that may pause for as long as a busy machine needs.
func group(t testing.TB, pids ...int) *Group {
	t.Helper()
	g, err := Processes(pids...)
	if err != nil {
		t.Fatal(err)
	}
	g.SetLongest(patience)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
