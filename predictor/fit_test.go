package predictor

import (
	"math"
	"testing"
)

// The interval of a fitted curve is at least that of the points' own noise, and
// grows with what the fit leaves.
func TestFitHalfWidth(t *testing.T) {
	noisy := withCurve(profileOf("noisy", 10, 1), 1, 1, 0.95, 0.7, 0.85, 0.5)
	for name, a := range map[string]*Application{
		"noise alone":          compiled(t, withCurve(profileOf("even", 10, 1), 1, 1, 0.9, 0.8, 0.7, 0.6)),
		"points off the curve": compiled(t, noisy),
	} {
		fits := a.Fits()
		if len(fits) != 1 {
			t.Fatalf("%s: %d fits", name, len(fits))
		}
		residual, half := a.responses[0].performance.Residual(), fits[0].HalfWidth
		want := 1.645 * math.Max(residual, a.noise)
		if math.Abs(half-want) > 1e-12 || !(half > 0) {
			t.Errorf("%s: ± %v, want ± %v", name, half, want)
		}
		if off := name != "noise alone"; off != (residual > a.noise) {
			t.Errorf("%s: residual %v beside noise %v", name, residual, a.noise)
		}
	}
}
