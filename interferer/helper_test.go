package interferer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/procstat"
)

// helperEnvironment makes the test binary a program that uses an interferer,
// for tests that have to kill such a program. Its values are below.
const helperEnvironment = "BANDMATE_INTERFERER_TEST_HELPER"

const (
	// helperCareless streams until it dies.
	helperCareless = "careless"
	// helperCareful closes its interferer upon SIGINT.
	helperCareful = "careful"
	// helperForgetful does not call RunIfChild.
	helperForgetful = "forgetful"
)

// helperMain is the program. It prints the process ID of its interferer.
func helperMain(kind string) int {
	ctx := context.Background()
	if kind == helperCareful {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	o := smallOptions(nil)
	o.RealTime = true
	o.MaxDuration = time.Minute
	i, err := Start(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := i.Apply(Setting{Mode: Stream, ReadShare: 1}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(i.PID())
	<-i.Done()
	if err := i.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startHelper runs the program in a process group of its own and returns it
// and the process ID of its interferer, which streams.
func startHelper(t *testing.T, kind string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnvironment+"="+kind)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("helper: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if !alive(pid) {
		t.Fatalf("interferer %d is not alive", pid)
	}
	return cmd, pid
}

// alive reports whether a process runs: exists, and is not merely waiting for
// its exit status to be collected.
func alive(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	s, err := procstat.Parse(line)
	return err == nil && !s.Ended()
}

// waitFor waits until a condition holds, and fails the test if it does not in
// far more time than it should take.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
