package regime

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns two CPUs this process may run on.
func pair(t *testing.T) (a, b int) {
	t.Helper()
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if allowed.Size() < 2 || runtime.GOMAXPROCS(0) < 2 {
		requires.Unmet(t, "needs two CPUs, both for Go")
	}
	return allowed.List()[0], allowed.List()[1]
}

// TestProbe accepts that a busy machine did not run both CPUs at once.
func TestProbe(t *testing.T) {
	a, b := pair(t)
	before, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	tag, err := Probe(t.Context(), a, b)
	switch {
	case errors.Is(err, ErrInconclusive):
	case err != nil:
		t.Fatal(err)
	// A cache line does not travel faster than a few cycles, and half of the
	// batches fit into the time that Probe may take.
	case tag.RoundTrip < 2*time.Nanosecond || tag.RoundTrip*batchRounds*(batches/2) > patience+time.Second || tag.Class != Classify(tag.RoundTrip, complexes()):
		t.Errorf("implausible tag %v", tag)
	}
	if after, err := topology.AllowedCPUs(); err != nil || !after.Equals(before) {
		t.Errorf("affinity %s became %s: %v", before, after, err)
	}
}

func TestProbeRefuses(t *testing.T) {
	a, b := pair(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		a, b int
		want error
	}{
		{"one CPU twice", t.Context(), a, a, ErrSameCPU},
		{"no such initiator", t.Context(), -1, a, topology.ErrOffline},
		{"no such responder", t.Context(), a, 8191, topology.ErrOffline},
		{"canceled", canceled, a, b, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tag, err := Probe(tt.ctx, tt.a, tt.b); !errors.Is(err, tt.want) {
				t.Errorf("tag %v, error %v; want %v", tag, err, tt.want)
			}
		})
	}
}

func TestProbeOnOneProcessor(t *testing.T) {
	a, b := pair(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if tag, err := Probe(t.Context(), a, b); !errors.Is(err, ErrOneProcessor) || errors.Is(err, ErrInconclusive) {
		t.Errorf("tag %v, error %v; want that trying again does not help", tag, err)
	}
}

func TestPingPongStops(t *testing.T) {
	var p, q pingPong
	ended := make(chan bool, 2)
	go func() { _, complete := p.initiate(time.Now); ended <- complete }()
	p.stopped.Store(true)
	if <-ended {
		t.Error("the exchange completed without a responder")
	}
	go func() { q.respond(); ended <- true }()
	q.stopped.Store(true)
	<-ended
}

// TestPingPongLines wants as many turns of every line: the address of one decides how long
// its turns take.
func TestPingPongLines(t *testing.T) {
	pair(t)
	var p pingPong
	ended := make(chan bool)
	go func() { p.respond(); ended <- true }()
	_, complete := p.initiate(time.Now)
	<-ended
	for i := range p.lines {
		if turns := p.lines[i].turns.Load(); !complete || turns != 2*batchRounds {
			t.Errorf("line %d: %d turns, complete %v; want %d", i, turns, complete, 2*batchRounds)
		}
	}
}

// TestPingPongPercentile has a clock in which the warm-up takes an hour, batch i
// takes i µs, and a few take a second more.
func TestPingPongPercentile(t *testing.T) {
	pair(t)
	var p pingPong
	looks, at := 0, time.Time{}
	now := func() time.Time {
		batch := (looks + 1) / 2
		if looks++; looks == 2 {
			at = at.Add(time.Hour)
		} else if looks > 1 && looks%2 == 1 {
			at = at.Add(time.Duration(batch) * batchRounds * time.Microsecond)
			if batch > batches-5 {
				at = at.Add(time.Second)
			}
		}
		return at
	}
	go p.respond()
	roundTrip, complete := p.initiate(now)
	if want := (batches/10 + 1) * time.Microsecond; !complete || roundTrip != want {
		t.Errorf("round trip %v, complete %v; want %v", roundTrip, complete, want)
	}
}

// BenchmarkProbe reports how far round trips scatter where the CPUs stay: the ninetieth
// percentile ÷ the tenth.
func BenchmarkProbe(b *testing.B) {
	allowed, err := topology.AllowedCPUs()
	if err != nil || allowed.Size() < 2 {
		b.Skip("needs two CPUs")
	}
	cpus := allowed.List()
	var trips []time.Duration
	for b.Loop() {
		tag, err := Probe(b.Context(), cpus[0], cpus[1])
		if errors.Is(err, ErrInconclusive) {
			continue
		}
		if err != nil {
			b.Fatal(err)
		}
		trips = append(trips, tag.RoundTrip)
	}
	if len(trips) == 0 {
		b.Skip("the CPUs never ran together")
	}
	slices.Sort(trips)
	b.ReportMetric(float64(trips[len(trips)*9/10])/float64(trips[len(trips)/10]), "p90/p10")
}
