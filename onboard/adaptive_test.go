package onboard

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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

// Points come in order; where a measured and an inferred one coincide the
// measured one stays.
func TestOrderedCurves(t *testing.T) {
	var curves []v1alpha1.SensitivityCurve
	for _, p := range []v1alpha1.CurvePoint{
		{Level: 1, InterfererBytesPerSecond: 4e9, Inferred: true},
		{Level: 0.5, InterfererBytesPerSecond: 2e9, Inferred: true},
		{Level: 0.9, InterfererBytesPerSecond: 4e9, Repeats: 1},
	} {
		curves = addPoint(curves, MeasuredPressure{Pressure: Pressure{ReadShare: 1}}, p)
	}
	curves = addPoint(curves, MeasuredPressure{Pressure: Pressure{ReadShare: 0.5}}, v1alpha1.CurvePoint{Level: 1, InterfererBytesPerSecond: 3e9})
	want := []v1alpha1.SensitivityCurve{
		{ReadShare: 0.5, Points: []v1alpha1.CurvePoint{{Level: 1, InterfererBytesPerSecond: 3e9}}},
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{
			{Level: 0.5, InterfererBytesPerSecond: 2e9, Inferred: true}, {Level: 0.9, InterfererBytesPerSecond: 4e9, Repeats: 1},
		}},
	}
	if diff := cmp.Diff(want, ordered(curves)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
