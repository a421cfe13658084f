package pressure

import (
	"math"
	"testing"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/units"
)

// Only what lies within a run counts, of its interferer the mean over slices.
func TestSliced(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(from, to int) launch.Span {
		return launch.Span{From: start.Add(time.Duration(from) * time.Millisecond), To: start.Add(time.Duration(to) * time.Millisecond)}
	}
	var p Sliced
	slow := interferer.Achieved{Elapsed: 10 * time.Millisecond, Traffic: units.Traffic{Read: 1e9}}
	fast := interferer.Achieved{Elapsed: 30 * time.Millisecond, Traffic: units.Traffic{Read: 5e9}}
	p.Add(at(0, 10), slow)
	p.Add(at(20, 50), fast)
	if got, want := p.During([]launch.Span{at(5, 30), at(40, 45)}), 20*time.Millisecond; got != want {
		t.Errorf("pressed %v, want %v", got, want)
	}
	if got := p.Achieved(); got.Elapsed != 40*time.Millisecond || math.Abs(float64(got.Traffic.Read)-4e9) > 1 {
		t.Errorf("achieved %+v, want 4 GB/s over 40 ms", got)
	}
	if got := (&Sliced{}).Achieved(); got.Elapsed != 0 || got.Traffic.Total() != 0 {
		t.Errorf("achieved %+v without any slice", got)
	}
}
