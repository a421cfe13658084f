package pressure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// Points come in order; where a measured and an inferred one coincide the
// measured one stays.
func TestOrderedCurves(t *testing.T) {
	var curves []v1alpha1.SensitivityCurve
	for _, p := range []v1alpha1.CurvePoint{
		{Level: 1, InterfererBytesPerSecond: 4e9, Inferred: true},
		{Level: 0.5, InterfererBytesPerSecond: 2e9, Inferred: true},
		{Level: 0.9, InterfererBytesPerSecond: 4e9, Repeats: 1},
	} {
		curves = AddPoint(curves, Measured{Pressure: Pressure{ReadShare: 1}}, p)
	}
	curves = AddPoint(curves, Measured{Pressure: Pressure{ReadShare: 0.5}}, v1alpha1.CurvePoint{Level: 1, InterfererBytesPerSecond: 3e9})
	want := []v1alpha1.SensitivityCurve{
		{ReadShare: 0.5, Points: []v1alpha1.CurvePoint{{Level: 1, InterfererBytesPerSecond: 3e9}}},
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{
			{Level: 0.5, InterfererBytesPerSecond: 2e9, Inferred: true}, {Level: 0.9, InterfererBytesPerSecond: 4e9, Repeats: 1},
		}},
	}
	if diff := cmp.Diff(want, Ordered(curves)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
