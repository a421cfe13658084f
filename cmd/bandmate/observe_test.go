package main

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
)

// observedPair is a counting program and its neighbor, which run already.
type observedPair struct {
	target, neighbor int
	counted          string
}

func startPair(t *testing.T) observedPair {
	t.Helper()
	counted := filepath.Join(t.TempDir(), "counted")
	target := prepare(t, "sh", "-c", `while :; do i=$((i+1)); echo $i; done > "$0"`, counted).start()
	// A shell and what it started, for all of it is paused.
	neighbor := prepare(t, "sh", "-c", `sh -c 'while :; do :; done' & while :; do :; done`).start()
	eventually(t, "progress", func() bool {
		data, err := os.ReadFile(counted)
		return err == nil && len(data) > 0
	})
	return observedPair{target.cmd.Process.Pid, neighbor.cmd.Process.Pid, counted}
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
	for _, pid := range processesOf(t) {
		if isStopped(pid) {
			stopped = append(stopped, pid)
		}
	}
	return stopped
}

// observersOf lists the processes of the command itself.
func observersOf(t *testing.T) []int {
	var pids []int
	for _, pid := range processesOf(t) {
		if command := commandOf(pid); command != "" && !strings.HasPrefix(command, "sh ") {
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
				p := prepare(t, "bandmate", pair.args()...).start()
				if round%2 == 0 {
					time.Sleep(rand.N(1500 * time.Millisecond))
				} else {
					await(t, "a pause", p, func() bool { return isStopped(pair.neighbor) })
				}
				p.signal(signal)
				p.wait()
				if signal == syscall.SIGINT {
					if code := p.cmd.ProcessState.ExitCode(); code != 130 && code != -1 {
						t.Errorf("exit code %d, want 130: %s", code, &p.stderr)
					}
				}
				// What stays does so for ever. The watchdog gets a CPU when the machine has one.
				eventually(t, fmt.Sprintf("the end of all pauses in round %d", round), func() bool { return len(stoppedOf(t)) == 0 })
				eventually(t, fmt.Sprintf("the end of the command in round %d", round), func() bool { return len(observersOf(t)) == 0 })
			}
			for _, pid := range []int{pair.target, pair.neighbor} {
				if commandOf(pid) == "" {
					t.Errorf("process %d ended", pid)
				}
			}
		})
	}
}

// await is eventually for what lasts some milliseconds only, while p runs.
func await(t *testing.T, what string, p *program, holds func() bool) {
	t.Helper()
	end := time.After(patience)
	for !holds() {
		select {
		case <-p.ended:
			t.Fatalf("%s ended before %s: %s", p.cmd, what, &p.stderr)
		case <-end:
			t.Fatalf("waited in vain for %s: %s", what, &p.stderr)
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// A command that stops while the neighbor is paused, as by Ctrl-Z, does not keep
// it paused.
func TestObserveStopped(t *testing.T) {
	pair := startPair(t)
	p := prepare(t, "bandmate", pair.args()...).start()
	await(t, "a pause", p, func() bool { return isStopped(pair.neighbor) })
	p.signal(syscall.SIGSTOP)
	eventually(t, "the neighbor to continue", func() bool { return !isStopped(pair.neighbor) })
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGINT)
	p.wantExit(130)
}
