package faults_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// observedPair is a counting program and its neighbor, which run already.
type observedPair struct {
	target, neighbor int
	counted          string
}

func startPair(t *testing.T) observedPair {
	t.Helper()
	counted := filepath.Join(t.TempDir(), "counted")
	// Other tests take the CPUs, and a program that hardly gets one has no usable count. Only
	// root may do this; without, it counts as it can.
	target := processtest.Prepare(t, "nice", "-n", "-10", "sh", "-c", `while :; do i=$((i+1)); echo $i; done > "$0"`, counted).Start()
	// A shell and what it started, for all of it is paused.
	neighbor := processtest.Prepare(t, "sh", "-c", `sh -c 'while :; do :; done' & while :; do :; done`).Start()
	processtest.Eventually(t, "progress", func() bool {
		data, err := os.ReadFile(counted)
		return err == nil && len(data) > 0
	})
	return observedPair{target.Cmd.Process.Pid, neighbor.Cmd.Process.Pid, counted}
}

func (p observedPair) args() []string {
	return []string{
		"observe", "-q", "--duration", "1h", "--progress-file", p.counted,
		"--pid", fmt.Sprint(p.target), "--beside-pid", fmt.Sprint(p.neighbor),
	}
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(data, []byte(") "))
	return bytes.HasPrefix(after, []byte("T"))
}

// stoppedOf lists the processes of a test that are stopped.
func stoppedOf(t *testing.T) []int {
	var stopped []int
	for _, pid := range processtest.ProcessesOf(t) {
		if isStopped(pid) {
			stopped = append(stopped, pid)
		}
	}
	return stopped
}

// observersOf lists the processes of the command itself.
func observersOf(t *testing.T) []int {
	var pids []int
	for _, pid := range processtest.ProcessesOf(t) {
		if command := processtest.CommandOf(pid); command != "" && !strings.HasPrefix(command, "sh ") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Ctrl-C and kill -9, at random moments and while the neighbor is paused: nobody
// stays paused and nothing of the command stays.
func TestObserveLeavesNothingPaused(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			pair := startPair(t)
			for round := range 10 {
				p := processtest.Prepare(t, "bandmate", pair.args()...).Start()
				if round%2 == 0 {
					time.Sleep(rand.N(1500 * time.Millisecond))
				} else {
					await(t, "a pause", p, func() bool { return isStopped(pair.neighbor) })
				}
				p.Signal(signal)
				p.Wait()
				if signal == syscall.SIGINT {
					if code := p.Cmd.ProcessState.ExitCode(); code != 130 && code != -1 {
						t.Errorf("exit code %d, want 130: %s", code, &p.Stderr)
					}
				}
				// What stays does so for ever. The watchdog gets a CPU when the machine has one.
				processtest.Eventually(t, fmt.Sprintf("the end of all pauses in round %d", round), func() bool { return len(stoppedOf(t)) == 0 })
				processtest.Eventually(t, fmt.Sprintf("the end of the command in round %d", round), func() bool { return len(observersOf(t)) == 0 })
			}
			for _, pid := range []int{pair.target, pair.neighbor} {
				if processtest.CommandOf(pid) == "" {
					t.Errorf("process %d ended", pid)
				}
			}
		})
	}
}

// await is eventually for what lasts some milliseconds only, while p runs.
func await(t *testing.T, what string, p *processtest.Program, holds func() bool) {
	t.Helper()
	end := time.After(processtest.Patience)
	for !holds() {
		select {
		case <-p.Ended:
			t.Fatalf("%s ended before %s: %s", p.Cmd, what, &p.Stderr)
		case <-end:
			t.Fatalf("waited in vain for %s: %s", what, &p.Stderr)
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// A command that stops while the neighbor is paused, as by Ctrl-Z, does not keep
// it paused.
func TestObserveStopped(t *testing.T) {
	pair := startPair(t)
	p := processtest.Prepare(t, "bandmate", pair.args()...).Start()
	await(t, "a pause", p, func() bool { return isStopped(pair.neighbor) })
	p.Signal(syscall.SIGSTOP)
	processtest.Eventually(t, "the neighbor to continue", func() bool { return !isStopped(pair.neighbor) })
	p.Signal(syscall.SIGCONT)
	p.Signal(syscall.SIGINT)
	p.WantExit(130)
}
