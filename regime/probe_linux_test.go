package regime

import (
	"context"
	"errors"
	"runtime"
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

func TestProbe(t *testing.T) {
	a, b := pair(t)
	before, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	tag, err := Probe(t.Context(), a, b)
	for range 20 {
		if !errors.Is(err, ErrInconclusive) {
			break
		}
		tag, err = Probe(t.Context(), a, b) // the machine is busy
	}
	if err != nil {
		t.Fatal(err)
	}
	// A cache line does not travel faster than a few cycles, nor does a median
	// of batches hold a scheduler's time slice.
	if tag.RoundTrip < 2*time.Nanosecond || tag.RoundTrip > 100*time.Microsecond || tag.Class != Classify(tag.RoundTrip) {
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
		{"no such server", t.Context(), -1, a, topology.ErrOffline},
		{"no such receiver", t.Context(), a, 8191, topology.ErrOffline},
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

func TestGameEndsWithoutAPartner(t *testing.T) {
	var c court
	ended := make(chan bool, 2)
	go func() { _, played := c.serve(); ended <- played }()
	c.closed.Store(true)
	if <-ended {
		t.Error("a game without a receiver was played to the end")
	}
	var d court
	go func() { d.answer(); ended <- true }()
	d.closed.Store(true)
	<-ended
}

func TestGameIsPlayedToTheEnd(t *testing.T) {
	pair(t)
	var c court
	go c.answer()
	roundTrip, played := c.serve()
	if !played || roundTrip <= 0 {
		t.Errorf("round trip %v, played %v", roundTrip, played)
	}
}
