package onboard

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/requires"
)

// corunVariable makes the test's program run two applications beside each
// other until it is ended. It holds the file where they say that they run.
const corunVariable = "BANDMATE_TEST_CORUN"

func runIfCorun() {
	file, ok := os.LookupEnv(corunVariable)
	if !ok {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	if err := corun(ctx, file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func corun(ctx context.Context, file string) error {
	session, err := Open(ctx, Placing{})
	if err != nil {
		return err
	}
	application := shell("sleep 300 & setsid sleep 300 & setsid sh -c 'sleep 300 & sleep 300' & echo running >> " + file + "; wait")
	_, _, err = session.RunBesideCommand(ctx, application, application)
	if closed := session.Close(); closed != nil {
		return closed
	}
	return err
}

// However a program ends that runs two applications beside each other, a
// second later nothing of them is left, nor the interferer, nor the guard.
func TestNothingOutlivesACorun(t *testing.T) {
	requires.TwoCPUs(t)
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "running")
			variable := corunVariable + "=" + file
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), variable)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("it said %q", stderr.String())
				}
			})
			waitFor(t, "two applications", func() bool {
				text, _ := os.ReadFile(file)
				return strings.Count(string(text), "running\n") == 2
			})
			waitFor(t, "this one's copy, the guard, the interferer and eight processes of the applications", func() bool {
				return len(withVariable(variable)) >= 11
			})
			if err := cmd.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if end == syscall.SIGINT && !strings.Contains(stderr.String(), context.Canceled.Error()) {
				t.Errorf("it said %q", stderr.String())
			}
			// About a second, and on a busy machine as much longer as it takes to
			// start processes.
			for range 100 {
				if len(withVariable(variable)) == 0 {
					break
				}
				time.Sleep(8 * time.Millisecond)
				_ = exec.Command("true").Run()
			}
			for _, pid := range withVariable(variable) {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				t.Errorf("still there: %d %q", pid, line)
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		})
	}
}

// patience is for machines on which other tests measure as well, which keeps CPUs busy
// for as long as Session.Tag waits.
const patience = 3 * time.Minute

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A command finds its own environment, and the mark of its guard.
func TestGuardMarksCommands(t *testing.T) {
	l := testLauncher(t)
	var output bytes.Buffer
	command := shell("env; setsid sh -c 'echo $$; sleep 300' & wait")
	command.Output, command.Timeout = &output, 300*time.Millisecond
	_, _ = l.run(t.Context(), command, cpuset.New(), nil)
	lines := strings.Split(output.String(), "\n")
	if !slices.Contains(lines, runEnvironment+"="+l.guard.mark) || !slices.Contains(lines, "PATH="+os.Getenv("PATH")) {
		t.Errorf("the environment is %q", lines)
	}
	if other := withVariable(runEnvironment + "=" + l.guard.mark); len(other) > 0 {
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
		cmd.Env = append(os.Environ(), runEnvironment+"="+mark)
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

// withVariable lists the living processes with NAME=VALUE in their environment.
func withVariable(variable string) []int {
	return processesWithEntry([]byte(variable))
}
