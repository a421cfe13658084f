package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
	p := prepare(t, "bandmate", "network", "simulate", "-")
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
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
	p.signal(syscall.SIGINT)
	p.wantExit(130, "bandmate: interrupted\n")
}
