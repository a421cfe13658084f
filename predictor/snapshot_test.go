package predictor

import (
	"math"
	"testing"
)

// The interval of a fitted curve is at least that of the points' own noise, and
// grows with what the fit leaves.
func TestSnapshotHalfWidth(t *testing.T) {
	noisy := withCurve(profileOf("noisy", 10, 1), 1, 1, 0.95, 0.7, 0.85, 0.5)
	for name, a := range map[string]*Application{
		"noise alone":          compiled(t, withCurve(profileOf("even", 10, 1), 1, 1, 0.9, 0.8, 0.7, 0.6)),
		"points off the curve": compiled(t, noisy),
	} {
		s := Snapshots([]*Application{a}).Applications[0]
		if len(s.Responses) != 1 {
			t.Fatalf("%s: %d responses", name, len(s.Responses))
		}
		r := s.Responses[0]
		want := 1.645 * math.Max(r.Residual, s.Noise)
		if math.Abs(r.HalfWidth-want) > 1e-12 || !(r.HalfWidth > 0) {
			t.Errorf("%s: ± %v, want ± %v", name, r.HalfWidth, want)
		}
		if off := name != "noise alone"; off != (r.Residual > s.Noise) {
			t.Errorf("%s: residual %v beside noise %v", name, r.Residual, s.Noise)
		}
	}
}
