package onboard

import (
	"testing"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// What refuses ticks is a difference from several whole runs, not from two that
// happen to lie close together.
func TestCheckLimit(t *testing.T) {
	by := sampling.Result{StandardError: 0.01}
	for _, test := range []struct {
		name    string
		ratios  []float64
		refuses float64 // a difference that many must refuse
		accepts float64 // one that they must not
	}{
		{"two alike by luck", []float64{1, 1}, 0.3, 0.15},
		{"six alike", []float64{1, 1.01, 0.99, 1, 1.01, 0.99}, 0.12, 0.05},
		{"six apart", []float64{0.7, 1.3, 1, 0.8, 1.2, 1}, 0.5, 0.3},
		{"one", []float64{1}, 0.5, 0.3},
	} {
		limit := checkLimit(pooledSpread(test.ratios), len(test.ratios), by)
		if limit >= test.refuses || limit <= test.accepts {
			t.Errorf("%s: limit %.3f, want above %.2f and below %.2f", test.name, limit, test.accepts, test.refuses)
		}
	}
	if strict, lenient := spread([]float64{1, 1.01}), pooledSpread([]float64{1, 1.01}); strict >= lenient {
		t.Errorf("spreads %v and %v of two ratios, want the pooled one above", strict, lenient)
	}
}

// Whole runs agree with ticks that tell the same, or less in one placement and more in
// another; whole runs of several placements refuse nothing.
func TestWholeRunsOfSeveralPlacements(t *testing.T) {
	tells := func(performance float64) sampling.Result {
		return sampling.Result{NormalizedPerformance: units.NormalizedPerformance(performance), StandardError: 0.005}
	}
	one := map[regime.Class]sampling.Result{regime.CrossComplex: tells(0.95)}
	two := map[regime.Class]sampling.Result{regime.CrossComplex: tells(0.95), regime.SameComplex: tells(0.7)}
	for _, test := range []struct {
		whole float64
		by    map[regime.Class]sampling.Result
		want  bool
	}{
		{0.95, one, true}, {0.8, one, false}, {0.8, two, true}, {0.55, two, false}, {1.1, two, false},
	} {
		if got := agrees(test.whole, 0.02, 6, test.by); got != test.want {
			t.Errorf("whole runs of %.2f agree with %v: %v, want %v", test.whole, test.by, got, test.want)
		}
	}
	for _, test := range []struct {
		here, elsewhere int
		want            bool
	}{{20, 0, false}, {20, 2, false}, {20, 5, true}} {
		o := &modulation.Outcome{RoundTrips: map[regime.Class][]float64{
			regime.CrossComplex: make([]float64, test.here), regime.SameComplex: make([]float64, test.elsewhere),
		}}
		if got := moved(o, regime.CrossComplex); got != test.want {
			t.Errorf("%d probes here and %d elsewhere: moved %v, want %v", test.here, test.elsewhere, got, test.want)
		}
	}
}
