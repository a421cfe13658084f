package onboard

import (
	"testing"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// The capacity is what probe and known traffic reach together.
func TestObservedCapacity(t *testing.T) {
	machine := &v1alpha1.MachineProfile{}
	machine.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 0.5, BytesPerSecond: 60e9}, {ReadShare: 1, BytesPerSecond: 40e9}}
	machine.Spec.ProbeMap = []v1alpha1.ProbePoint{
		{Probe: profiler.Reader, Regime: "same-complex", AchievedBytesPerSecond: 10e9, RelativeSpeed: 0.9},
		{Probe: profiler.Reader, Regime: "same-complex", AchievedBytesPerSecond: 30e9, RelativeSpeed: 0.6},
		{Probe: profiler.Modifier, Regime: "same-complex", AchievedBytesPerSecond: 30e9, RelativeSpeed: 0.5},
		{Probe: profiler.Reader, Regime: "cross-complex", AchievedBytesPerSecond: 40e9, RelativeSpeed: 1},
	}
	for _, tt := range []struct {
		share  float64
		regime string
		want   float64
	}{{1, "same-complex", 54e9}, {0.5, "same-complex", 60e9}, {0.6, "same-complex", 60e9}, {1, "cross-complex", 80e9}, {1, "same-core", 0}} {
		if got := observedCapacity(machine, units.ReadShare(tt.share), tt.regime); float64(got) != tt.want {
			t.Errorf("%v reads, %s: %v, want %v", tt.share, tt.regime, float64(got), tt.want)
		}
	}
}
