package regime

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		roundTrip       time.Duration
		complexes, mesh Class
	}{
		{0, SameCore, SameCore},
		{31, SameCore, SameCore},
		{37, SameCore, SameCore},
		{40, SameCore, SameCore},
		{41, SameComplex, SameComplex},
		{53, SameComplex, SameComplex},
		{149, SameComplex, SameComplex},
		{150, CrossComplex, SameComplex},
		{211, CrossComplex, SameComplex},
		{216, CrossComplex, CrossComplex},
		{258, CrossComplex, CrossComplex},
		{time.Second, CrossComplex, CrossComplex},
	}
	for _, tt := range tests {
		if got := Classify(tt.roundTrip, true); got != tt.complexes {
			t.Errorf("Classify(%v) = %s with complexes, want %s", tt.roundTrip, got, tt.complexes)
		}
		if got := Classify(tt.roundTrip, false); got != tt.mesh {
			t.Errorf("Classify(%v) = %s without complexes, want %s", tt.roundTrip, got, tt.mesh)
		}
	}
}

func TestHasComplexes(t *testing.T) {
	for vendor, want := range map[string]bool{"AuthenticAMD": true, "HygonGenuine": true, "GenuineIntel": false, "": false} {
		if got := hasComplexes(map[string]string{"vendor_id": vendor}); got != want {
			t.Errorf("%q: %v", vendor, got)
		}
	}
}

func TestTagSame(t *testing.T) {
	tests := []struct {
		name string
		t, u Tag
		want bool
	}{
		{"equal", Tag{SameComplex, 50}, Tag{SameComplex, 50}, true},
		{"ends of the band", Tag{SameComplex, 45}, Tag{SameComplex, 66}, true},
		{"another class", Tag{SameCore, 40}, Tag{SameComplex, 41}, false},
		{"complexes and sockets", Tag{CrossComplex, 200}, Tag{CrossComplex, 400}, false},
		{"never measured", Tag{}, Tag{SameComplex, 50}, false},
	}
	for _, tt := range tests {
		if got := tt.t.Same(tt.u); got != tt.want {
			t.Errorf("%s: %v.Same(%v) = %v, want %v", tt.name, tt.t, tt.u, got, tt.want)
		}
		if tt.t.Same(tt.u) != tt.u.Same(tt.t) {
			t.Errorf("%s: Same depends on the order", tt.name)
		}
	}
}

func TestTally(t *testing.T) {
	near, far := Tag{SameComplex, 50}, Tag{CrossComplex, 260}
	var tally Tally
	if _, ok := tally.Main(); ok || tally.Counts() != nil {
		t.Error("an empty tally has seen something")
	}
	steps := []struct {
		before, after Tag
		elapsed       time.Duration
		keep          bool
	}{
		{near, Tag{SameComplex, 60}, 3 * time.Second, true},
		{near, far, 1 * time.Second, false},
		{far, far, 4 * time.Second, true},
		{near, near, 2 * time.Second, true},
		{far, Tag{CrossComplex, 600}, 0, false},
	}
	for _, s := range steps {
		if kept := tally.Add(s.before, s.after, s.elapsed); kept != s.keep {
			t.Errorf("sample from %v to %v kept: %v, want %v", s.before, s.after, kept, s.keep)
		}
	}
	counts := tally.Counts()
	if len(counts) != 2 {
		t.Fatalf("counts %+v", counts)
	}
	want := []Count{
		{Class: SameComplex, Kept: 2, Dropped: 1, TimeShare: 0.6, RoundTrip: 50},
		{Class: CrossComplex, Kept: 1, Dropped: 1, TimeShare: 0.4, RoundTrip: 260},
	}
	for i, w := range want {
		got := counts[i]
		if got.Class != w.Class || got.Kept != w.Kept || got.Dropped != w.Dropped || got.RoundTrip != w.RoundTrip ||
			math.Abs(got.TimeShare-w.TimeShare) > 1e-12 {
			t.Errorf("count %d is %+v, want %+v", i, got, w)
		}
	}
	if class, ok := tally.Main(); !ok || class != SameComplex {
		t.Errorf("main class %q, %v", class, ok)
	}
}

func TestTallyAddsUp(t *testing.T) {
	tag := func(t *rapid.T) Tag {
		rt := time.Duration(rapid.IntRange(1, 1000).Draw(t, "round trip"))
		return Tag{Classify(rt, true), rt}
	}
	rapid.Check(t, func(t *rapid.T) {
		var tally Tally
		n, kept, total := rapid.IntRange(1, 20).Draw(t, "samples"), 0, time.Duration(0)
		for range n {
			elapsed := time.Duration(rapid.IntRange(1, 1e9).Draw(t, "elapsed"))
			total += elapsed
			if tally.Add(tag(t), tag(t), elapsed) {
				kept++
			}
		}
		sum, sumKept, dropped := 0.0, 0, 0
		for _, c := range tally.Counts() {
			sum += c.TimeShare
			sumKept += c.Kept
			dropped += c.Dropped
			if (c.RoundTrip > 0) != (c.Kept > 0) {
				t.Fatalf("round trip %v with %d samples kept", c.RoundTrip, c.Kept)
			}
			if c.Kept > 0 && Classify(c.RoundTrip, true) != c.Class {
				t.Fatalf("median %v of %s lies in another class", c.RoundTrip, c.Class)
			}
		}
		if math.Abs(sum-1) > 1e-9 || sumKept != kept || dropped != n-kept {
			t.Fatalf("%d samples, %d kept: kept %d, dropped %d, time shares %g", n, kept, sumKept, dropped, sum)
		}
	})
}
