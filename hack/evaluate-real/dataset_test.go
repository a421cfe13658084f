package main

import (
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
)

// A random interferer's bandwidth is not a point of a stream's curve.
func TestCurvesHoldStreamsOnly(t *testing.T) {
	curve := func(pattern interferer.Pattern) v1alpha1.SensitivityCurve {
		return v1alpha1.SensitivityCurve{ReadShare: 1, Pattern: string(pattern), Points: []v1alpha1.CurvePoint{{
			Level: 1, InterfererBytesPerSecond: 8e9, AchievedBytesPerSecond: new(7e9), NormalizedPerformance: 0.5, Repeats: 3,
		}}}
	}
	profile := &v1alpha1.ApplicationProfile{}
	profile.Name = "xz"
	profile.Spec.Solo.Seconds = 1
	profile.Spec.Curves = []v1alpha1.SensitivityCurve{curve(interferer.Random), curve(interferer.Sequential), curve("")}
	rows := curveRows(&onboard.Verified{Profiles: []*v1alpha1.ApplicationProfile{profile}})
	if got, want := len(rows)-1, 2; got != want {
		t.Errorf("%d rows, want %d: those of the sequential curves", got, want)
	}
}
