package measure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

func TestCounts(t *testing.T) {
	for most, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := counts(most); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", most, got, want)
		}
	}
	for most, want := range map[int][]int{1: {1}, 3: {1, 2, 3}, 7: {1, 2, 3, 4, 6, 7}, 15: {1, 2, 3, 4, 6, 8, 12, 15}, 63: {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 63}} {
		if got := readerCounts(most); !slices.Equal(got, want) {
			t.Errorf("up to %d readers: %v, want %v", most, got, want)
		}
	}
}

// wide is a machine of two NUMA nodes with 32 cores each, pairs of which share a
// second level, and memory without CPUs on a third node.
func wide() *topology.Machine {
	m := &topology.Machine{}
	for id := range 64 {
		m.CPUs = append(m.CPUs, topology.CPU{ID: id, Core: id, Node: id / 32})
		if id%2 == 0 {
			m.Caches = append(m.Caches, topology.Cache{Level: 2, Type: "Unified", Bytes: 1 << 20, CPUs: cpuset.New(id, id+1)})
		}
		m.Caches = append(m.Caches, topology.Cache{Level: 1, Type: "Data", Bytes: 32 << 10, CPUs: cpuset.New(id)})
	}
	m.Nodes = []topology.Node{{ID: 0, MemoryBytes: 1 << 36}, {ID: 1, MemoryBytes: 1 << 36}, {ID: 2, MemoryBytes: 1 << 36}, {ID: 3}}
	return m
}

func all(n int) []int {
	cpus := make([]int, n)
	for i := range cpus {
		cpus[i] = i
	}
	return cpus
}

// What would be measured on a machine that the tests do not have.
func TestPlanOfAWideMachine(t *testing.T) {
	r := &runner{machine: wide(), options: Options{CPUs: all(64), MemoryBytes: 1 << 28}}
	r.capability().Level1Bytes, r.capability().Level2Bytes = 32<<10, 1<<20
	if got := r.partners(); len(got) != maxPartners || got[0] != 1 || got[maxPartners-1] != 63 {
		t.Errorf("partners %v", got)
	}
	if r.place(1) != "tile" || r.place(2) != "remote" {
		t.Errorf("places %s and %s", r.place(1), r.place(2))
	}
	if cpu, ok := r.nearestOf("remote"); !ok || cpu == 1 {
		t.Errorf("nearest remote CPU %d, %t", cpu, ok)
	}
	var teams []string
	for _, team := range r.teams() {
		teams = append(teams, team.String())
	}
	want := []string{
		"threads: 1", "threads: 2", "threads: 4", "threads: 8", "threads: 16", "threads: 32", "threads: 64",
		"threads: 1 of node 0, memory of node 0", "threads: 32 of node 0, memory of node 0",
		"threads: 1 of node 0, memory of node 1", "threads: 32 of node 0, memory of node 1",
		"threads: 1 of node 0, memory of node 2", "threads: 32 of node 0, memory of node 2",
	}
	if diff := cmp.Diff(want, teams); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(r.ofOtherNodes()); n != 2 {
		t.Errorf("latency of %d other nodes, want 2", n)
	}
	// Two places, four states, of which three take a flush.
	if n, want := len(r.byState()), 2*len(lineStates()); canFlush && n != want {
		t.Errorf("%d states, want %d", n, want)
	}
	if n, want := len(r.transfers()), 2*2*2; canFlush && n != want {
		t.Errorf("%d transfers, want %d", n, want)
	}
	if l := r.lineLatency("memory", Median{}); *l.CPUNode != 0 || *l.MemoryNode != 0 {
		t.Errorf("latency of the own memory: %+v", l)
	}
	if n := len(r.loaded()); n != 7 {
		t.Errorf("%d loads, want those of 1, 2, 4 … 32 and 63 threads", n)
	}
}

func TestOverPlaces(t *testing.T) {
	one := overPlaces("remote", "modified", []Median{{Value: 100, RelativeInterval: 0.02, Repeats: 11}})
	if one.Nanoseconds != 100 || one.LowNanoseconds != nil || *one.RelativeInterval != 0.02 {
		t.Errorf("one: %+v", one)
	}
	three := overPlaces("remote", "modified", []Median{
		{Value: 100, RelativeInterval: 0.02, Repeats: 11}, {Value: 140, RelativeInterval: 0.01, Repeats: 12}, {Value: 110, RelativeInterval: 0.05, Repeats: 9},
	})
	want := v1alpha1.LineLatency{
		Place: "remote", State: "modified", Nanoseconds: 120, LowNanoseconds: new(100.0), HighNanoseconds: new(140.0),
		RelativeInterval: new(0.05), Repeats: 9,
	}
	if diff := cmp.Diff(want, three); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Points that a line goes through are fitted; others are kept without.
func TestFitContention(t *testing.T) {
	tests := []struct {
		name   string
		points []float64
		fitted bool
		warn   string
	}{
		{"a line", []float64{234, 268, 302, 336}, true, ""},
		{"two points", []float64{234, 268}, false, "2 of at least 3"},
		{"falls", []float64{300, 200, 100}, false, "neither can be negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &runner{}
			for i, ns := range tt.points {
				r.capability().ContentionPoints = append(r.capability().ContentionPoints, v1alpha1.ContentionPoint{Threads: i + 1, Nanoseconds: ns})
			}
			r.fitContention()
			c := r.capability().Contention
			if (c != nil) != tt.fitted || tt.warn != "" && !warned(r.result, tt.warn) {
				t.Fatalf("contention %+v, warnings %q", c, r.result.Warnings)
			}
			if c != nil && (c.BaseNanoseconds < 199.99 || c.BaseNanoseconds > 200.01 || *c.PerThreadIntervalNanoseconds > 0.01) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestFitTransfer(t *testing.T) {
	r := &runner{}
	line := v1alpha1.LinesTransfer{Place: "remote", State: "modified", Access: "read"}
	for n := 1; n <= 4096; n *= 2 {
		line.Points = append(line.Points, v1alpha1.TransferPoint{Lines: n, Nanoseconds: 100 + 8*float64(n)})
	}
	r.fitTransfer(line)
	falls := line
	falls.Points = []v1alpha1.TransferPoint{{Lines: 1, Nanoseconds: 30}, {Lines: 2, Nanoseconds: 20}, {Lines: 3, Nanoseconds: 10}}
	r.fitTransfer(falls)
	got := r.capability().Transfers
	if len(got) != 1 || got[0].BaseNanoseconds < 99.9 || got[0].BaseNanoseconds > 100.1 || got[0].PerLineNanoseconds < 7.99 || got[0].PerLineNanoseconds > 8.01 {
		t.Errorf("got %+v", got)
	}
	if !warned(r.result, "read of several modified lines, remote: α + β·n was not fitted") {
		t.Errorf("warnings %q", r.result.Warnings)
	}
}

// A section that cannot be opened here is left out; what is open is closed,
// whatever happens.
func TestSections(t *testing.T) {
	fails := errors.New("fails")
	var seen []string
	note := func(what string, err error) func() error {
		return func() error { seen = append(seen, what); return err }
	}
	noted := func(name string, open, once, end error) section {
		return section{
			open:   func(context.Context) error { return note("open "+name, open)() },
			close:  note("close "+name, end),
			values: []value{{what: name, once: func() (float64, error) { return 1, once }, keep: func(Median) { seen = append(seen, "keep "+name) }}},
			done:   func() { seen = append(seen, "done "+name) },
		}
	}
	r := &runner{options: Options{Repeats: Repeats{6, 6}}, deadline: time.Now()}
	err := r.run(t.Context(), []section{
		noted("a", nil, nil, nil), noted("b", errors.Join(errSkip, errors.New("no such node")), nil, nil),
		noted("c", nil, fails, nil), noted("d", nil, nil, nil),
	})
	if !errors.Is(err, fails) || !strings.Contains(err.Error(), "c: fails") {
		t.Error(err)
	}
	want := []string{"open a", "keep a", "done a", "close a", "open b", "close b", "open c", "close c"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !warned(r.result, "not measured; no such node") {
		t.Errorf("warnings %q", r.result.Warnings)
	}
	if err := r.run(t.Context(), []section{noted("e", nil, nil, fails)}); !errors.Is(err, fails) {
		t.Errorf("closing: %v", err)
	}
	if err := r.run(t.Context(), []section{noted("f", fails, nil, nil)}); !errors.Is(err, fails) {
		t.Errorf("opening: %v", err)
	}
}

// A NUMA node that there is not, or that may not be taken from, is left out, and
// the rest is measured.
func TestForeignNodesAreLeftOut(t *testing.T) {
	on := cpus(t, 1)
	m := made(on)
	m.Nodes = append(m.Nodes, topology.Node{ID: 1000, MemoryBytes: 1 << 30})
	got := run(t, m, small(on))
	for _, want := range []string{"latency of memory of node 1000 was not measured", "memory of node 1000, was not measured"} {
		if !warned(got, want) {
			t.Errorf("warnings %q: want %q", got.Warnings, want)
		}
	}
	for _, b := range got.Capability.Bandwidths {
		if b.MemoryNode != nil && *b.MemoryNode != 0 {
			t.Errorf("measured: %+v", b)
		}
	}
	if !latency(got.Capability, "memory", "") || len(got.Capability.Bandwidths) == 0 {
		t.Error("nothing else was measured")
	}
}
