package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// What another command stores while capabilities are measured stays.
func TestCapabilityMeasuredMeanwhile(t *testing.T) {
	store := processtest.StoreWith(t)
	p := processtest.Prepare(t, "bandmate", "capability", "measure", "--store", store, "--name", "here", "--memory-size", "4MiB", "--repeats", "6", "--budget", "2s").Start()
	processtest.Eventually(t, "a measurement", func() bool { return strings.Contains(p.Stderr.String(), "latency in") })
	processtest.Bandmate(t, "machine", "network", "--store", store, "--name", "here", "--rate", "1GB/s").WantExit(0)
	p.WantExit(0)
	profile := processtest.ReadFile(t, filepath.Join(store, "machines", "here.yaml"))
	for _, section := range []string{"  capability:\n", "  network:\n"} {
		if !strings.Contains(profile, section) {
			t.Errorf("no section %s", section)
		}
	}
}

// A simulation whose every step takes a second ends at Ctrl-C.
func TestSimulateInterrupted(t *testing.T) {
	t.Parallel() // computes only
	// Each node sends to two others, which makes a ring of 58 that share cards.
	const nodes = 29
	var placed []string
	var tasks strings.Builder
	for at := range 4 * nodes {
		node, stream := at/2, at%2
		placed = append(placed, fmt.Sprint(node))
		event := fmt.Sprintf("{send: {to: %d, bytes: %dkB}}", 2*(nodes+(node+stream)%nodes)+stream, 1000+at)
		if node >= nodes {
			event = fmt.Sprintf("{receive: {from: %d}}", 2*((node-stream)%nodes)+stream)
		}
		fmt.Fprintf(&tasks, "  - {repeat: 1000, events: [%s]}\n", event)
	}
	p := processtest.Prepare(t, "bandmate", "network", "simulate", "-")
	stdin, err := p.Cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	// What a pipe does not hold, the program has read.
	if _, err := fmt.Fprintf(stdin, `cluster: {nodes: %d, coresPerNode: 2, bandwidth: 100MB/s}
model: {name: myrinet}
placement: {policy: given, nodes: [%s]}
applications:
- name: ring
  tasks:
%s# %s
`, 2*nodes, strings.Join(placed, ", "), &tasks, strings.Repeat("-", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // into the simulation
	p.Signal(syscall.SIGINT)
	p.WantExit(130, "bandmate: interrupted\n")
}

// Commands that wait for the writer of a named pipe end at Ctrl-C.
func TestReadingInterrupted(t *testing.T) {
	store := processtest.StoreWith(t)
	for name, args := range map[string][]string{
		"import":          {"profiles", "import"},
		"measure":         {"measure", "--from"},
		"network-fit":     {"network", "fit"},
		"overlap-fit":     {"overlap", "fit"},
		"bandwidth":       {"overlap", "bandwidth", "--cores", "2", "--parameters"},
		"machine-network": {"machine", "network", "--name", "here", "--bus-sharing"},
		"barrier":         {"capability", "barrier", "--threads", "4", "--machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe.yaml")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			p := processtest.Prepare(t, "bandmate", append(args, pipe, "--store", store)...).Start()
			processtest.Eventually(t, "a thread that opens the pipe", func() bool { return opens(p, pipe) })
			p.Signal(syscall.SIGINT)
			p.WantExit(130, "bandmate: interrupted\n")
		})
	}
}

// opens reports whether a thread of a program waits in openat(2) of a path. While it
// starts, a program opens other files as well.
func opens(p *processtest.Program, path string) bool {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.Cmd.Process.Pid))
	if err != nil {
		return false
	}
	defer memory.Close()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", p.Cmd.Process.Pid))
	return slices.ContainsFunc(threads, func(file string) bool {
		call, _ := os.ReadFile(file)
		var number, directory, name uint64
		if _, err := fmt.Sscanf(string(call), "%d %v %v", &number, &directory, &name); err != nil || number != unix.SYS_OPENAT {
			return false
		}
		opened := make([]byte, len(path)+1)
		_, err := memory.ReadAt(opened, int64(name))
		return err == nil && string(opened) == path+"\x00"
	})
}
