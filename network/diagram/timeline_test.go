package diagram_test

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/internal/drawing/drawingtest"
	"bandmate.dev/bandmate/network/diagram"
	"bandmate.dev/bandmate/network/simulate"
)

const scenario = `
cluster: {nodes: 3, coresPerNode: 2, bandwidth: 118MB/s, latency: 50us, memoryBandwidth: 4GB/s, buffer: 64KiB}
model: {name: gigabit-ethernet}
placement: {policy: round-robin-node}
applications:
- name: ring
  tasks:
  - {repeat: 2, events: [{compute: 20ms}, {send: {to: 1, bytes: 4MB}}, {receive: {from: 2}}]}
  - {repeat: 2, events: [{compute: 25ms}, {receive: {from: 0}}, {send: {to: 2, bytes: 4MB}}]}
  - {repeat: 2, events: [{compute: 15ms}, {receive: {from: 1}}, {send: {to: 0, bytes: 4MB}}]}
- name: "an <exchange> of many"
  tasks:
  - {events: [{compute: 10ms}, {send: {to: 1, bytes: 6MB}}, {send: {to: 2, bytes: 6MB}}]}
  - {events: [{receive: {from: 0}}, {compute: 30ms}]}
  - {events: [{receive: {from: 0}}, {compute: 30ms}]}
`

func TestGolden(t *testing.T) {
	s, err := simulate.Decode([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	played, trace, err := simulate.Run(t.Context(), s, diagram.MaxSpans)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := diagram.Timeline(played, trace)
	if err != nil {
		t.Fatal(err)
	}
	drawingtest.Want(t, "testdata/timeline.svg", drawn)
}

func TestRefused(t *testing.T) {
	one := simulate.Result{TotalSeconds: 1, Tasks: make([]simulate.TaskResult, 1)}
	for _, test := range []struct {
		r    simulate.Result
		t    simulate.Trace
		want string
	}{
		{simulate.Result{}, simulate.Trace{}, "take no time"},
		{simulate.Result{TotalSeconds: 1, Tasks: make([]simulate.TaskResult, diagram.MaxTasks+1)}, simulate.Trace{}, "65 tasks"},
		{one, simulate.Trace{Left: true}, "more than 5000 events"},
		{one, simulate.Trace{Spans: make([]simulate.Span, diagram.MaxSpans+1)}, "more than 5000 events"},
	} {
		if _, err := diagram.Timeline(test.r, test.t); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}
