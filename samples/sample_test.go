package samples

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// heap returns a region on the Go heap, so tests need no mapping of their own.
func heap(bytes int) *region { return &region{free: make([]byte, bytes)} }

// wantWrong checks that verify notices a spoilt result.
func wantWrong(t *testing.T, k kernel) {
	t.Helper()
	if _, err := k.verify(); !errors.Is(err, ErrWrongResult) {
		t.Errorf("verify of a spoilt result: got %v, want ErrWrongResult", err)
	}
}

func complete(t *testing.T, k kernel) uint64 {
	t.Helper()
	if err := k.run(t.Context()); err != nil {
		t.Fatalf("run: %v", err)
	}
	checksum, err := k.verify()
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return checksum
}

// The checksums hold on every machine: a change means that the work changed,
// and with it every profile measured before.
func TestRunAtSmallestScale(t *testing.T) {
	want := map[string]Result{
		"triad":              {Work: 24 << 22, Unit: "bytes", Checksum: 3924969744666776539},
		"radix-sort":         {Work: 6 << 20, Unit: "keys", Checksum: 12512905658719743312},
		"stencil":            {Work: 176 * 176 * 176, Unit: "cells", Checksum: 12057097897485265236},
		"conjugate-gradient": {Work: 7*96*96*96 - 6*96*96, Unit: "nonzeros", Checksum: 15017873305846534515},
		"pointer-chase":      {Work: 1 << 16, Unit: "loads", Checksum: 12210397514129990536},
		"floating-point":     {Work: 8 << 21, Unit: "multiply-adds", Checksum: 8576651140184998104},
	}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			got, err := s.Run(t.Context(), 1e-9)
			if err != nil {
				t.Fatal(err)
			}
			if got.SetUp < 0 || got.Elapsed < 0 {
				t.Errorf("negative durations: %+v", got)
			}
			got.SetUp, got.Elapsed = 0, 0
			if got != want[s.Name] {
				t.Errorf("got %+v, want %+v", got, want[s.Name])
			}
		})
	}
}

func TestRunRefusesScales(t *testing.T) {
	s, err := ByName("floating-point")
	if err != nil {
		t.Fatal(err)
	}
	for _, scale := range []float64{0, -1, math.NaN(), math.Inf(1), MaxScale * 2} {
		if _, err := s.Run(t.Context(), scale); err == nil || !strings.Contains(err.Error(), "scale") {
			t.Errorf("scale %v: got %v, want an error that names the scale", scale, err)
		}
	}
}

func TestRunStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range All() {
		if _, err := s.Run(ctx, MaxScale); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", s.Name, err)
		}
	}
}

func TestByName(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		got, err := ByName(s.Name)
		if err != nil || got.Name != s.Name || got.Description == "" || got.Unit == "" {
			t.Errorf("ByName(%q) = %+v, %v", s.Name, got, err)
		}
		if seen[s.Name] {
			t.Errorf("%s occurs twice", s.Name)
		}
		seen[s.Name] = true
	}
	if _, err := ByName("quicksort"); err == nil || !strings.Contains(err.Error(), "triad, ") {
		t.Errorf("unknown name: got %v, want an error that lists the samples", err)
	}
}

func TestRegion(t *testing.T) {
	r, err := newRegion(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.release()
	a := array[float64](r, 1<<16)
	b := array[uint32](r, 1<<17)
	for i := range a {
		if a[i] != 0 {
			t.Fatalf("element %d is %v at first", i, a[i])
		}
		a[i] = math.NaN()
	}
	for i, v := range b {
		if v != 0 {
			t.Fatalf("arrays overlap at element %d", i)
		}
	}
	if got := array[uint64](r, 0); got != nil {
		t.Errorf("no elements: got %d", len(got))
	}
}
