package launch

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/utils/cpuset"
)

// A command finds its own environment, and the mark of its guard.
func TestGuardMarksCommands(t *testing.T) {
	l := testLauncher(t)
	var output bytes.Buffer
	command := shell("env; setsid sh -c 'echo $$; sleep 300' & wait")
	command.Output, command.Timeout = &output, 300*time.Millisecond
	_, _ = l.Run(t.Context(), command, cpuset.New(), nil)
	lines := strings.Split(output.String(), "\n")
	if !slices.Contains(lines, runEnvironment+"="+l.guard.mark+".1") || !slices.Contains(lines, "PATH="+os.Getenv("PATH")) {
		t.Errorf("the environment is %q", lines)
	}
	if other := marked(l.guard.mark); len(other) > 0 {
		t.Errorf("still there: %v", other)
	}
}

// The end of a guard ends what carries its mark, and nothing else.
func TestGuardSweepsOnlyItsMark(t *testing.T) {
	g, err := startGuard()
	if err != nil {
		t.Fatal(err)
	}
	start := func(mark string) *exec.Cmd {
		cmd := exec.Command("sleep", "300")
		cmd.Env = append(os.Environ(), runEnvironment+"="+mark+".1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	ours, prefix, other := start(g.mark), start(g.mark+"x"), start("other")
	// The environment is seen once the program runs.
	waitFor(t, "the mark", func() bool { return len(marked(g.mark)) == 1 })
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if err := ours.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the marked process: %v", err)
	}
	for _, cmd := range []*exec.Cmd{prefix, other} {
		if !alive(cmd.Process.Pid) {
			t.Errorf("a process of somebody else was ended: %v", cmd.Env[len(cmd.Env)-1])
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// waitFor is patient: other tests keep the CPUs busy.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestReapLooksAgain checks that reap stops a process that shows no environment at first.
func TestReapLooksAgain(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	stopped := reapWhat(func() ([]orphan, bool) {
		if looks++; looks == 1 || !alive(cmd.Process.Pid) {
			return nil, looks > 1
		}
		return []orphan{{child{ProcStat: procfs.ProcStat{PID: cmd.Process.Pid}}, true}}, true
	})
	if stopped != 1 || alive(cmd.Process.Pid) {
		t.Errorf("%d processes were stopped", stopped)
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
}

// TestSweepLooksAgain checks that sweep kills a process that the first looks miss.
func TestSweepLooksAgain(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	sweep(func() []int {
		if looks++; looks == 3 {
			return []int{cmd.Process.Pid}
		}
		return nil
	})
	if alive(cmd.Process.Pid) {
		t.Error("a process that two looks had missed was left")
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
}
