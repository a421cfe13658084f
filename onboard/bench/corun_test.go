package bench

import (
	"bytes"
	"context"
	"errors"
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

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/launch"
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
	application := testprogram.Shell("sleep 300 & setsid sleep 300 & setsid sh -c 'sleep 300 & sleep 300' & echo running >> " + file + "; wait")
	_, err = session.RunBesideCommand(ctx, application, application)
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

// A co-runner that cannot be started again is no co-runner.
func TestCorunnerVanishes(t *testing.T) {
	session := openSession(t)
	corunner := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(corunner, []byte("#!/bin/sh\nrm \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	target := testprogram.Shell("while test -e " + corunner + "; do sleep 0.01; done; sleep 0.3")
	_, err := session.RunBesideCommand(t.Context(), target, launch.Command{Args: []string{corunner}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("beside a program that removes itself: %v, want %v", err, os.ErrNotExist)
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

// withVariable lists the living processes with NAME=VALUE in their environment.
func withVariable(variable string) []int {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	var pids []int
	for _, p := range all {
		if environment, err := p.Environ(); err == nil && slices.Contains(environment, variable) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
