package onboard

import (
	"math"
	"testing"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// By hand: pressed for 2 of 3 seconds, an application of 2 seconds did half of
// its work in the second that it was left alone, so half in the other two.
func TestPerformanceOfAPressedRun(t *testing.T) {
	for _, tt := range []struct {
		wall, pressed, solo time.Duration
		want                float64
	}{
		{3 * time.Second, 2 * time.Second, 2 * time.Second, 0.5},
		{3 * time.Second, 0, 2 * time.Second, 2. / 3},
		{3 * time.Second, 3 * time.Second, 2 * time.Second, 2. / 3},
		{2 * time.Second, time.Second, 2 * time.Second, 1},
		{9 * time.Second, time.Second, 2 * time.Second, lowestPerformance}, // disturbed otherwise
	} {
		o := Observation{Wall: tt.wall, Pressed: tt.pressed}
		if got := o.performance(tt.solo); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v pressed %v, alone %v: %v, want %v", tt.wall, tt.pressed, tt.solo, got, tt.want)
		}
	}
}

// Only what lies within a run counts, of its interferer the mean over slices.
func TestPressingWithinRuns(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(from, to int) span {
		return span{start.Add(time.Duration(from) * time.Millisecond), start.Add(time.Duration(to) * time.Millisecond)}
	}
	var p slicedPressure
	slow := interferer.Achieved{Elapsed: 10 * time.Millisecond, Traffic: units.Traffic{Read: 1e9}}
	fast := interferer.Achieved{Elapsed: 30 * time.Millisecond, Traffic: units.Traffic{Read: 5e9}}
	p.add(at(0, 10), slow)
	p.add(at(20, 50), fast)
	if got, want := p.during([]span{at(5, 30), at(40, 45)}), 20*time.Millisecond; got != want {
		t.Errorf("pressed %v, want %v", got, want)
	}
	if got := p.achieved(); got.Elapsed != 40*time.Millisecond || math.Abs(float64(got.Traffic.Read)-4e9) > 1 {
		t.Errorf("achieved %+v, want 4 GB/s over 40 ms", got)
	}
	if got := (&slicedPressure{}).achieved(); got.Elapsed != 0 || got.Traffic.Total() != 0 {
		t.Errorf("achieved %+v without any slice", got)
	}
}
