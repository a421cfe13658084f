package onboard

import (
	"testing"

	"bandmate.dev/bandmate/onboard/sampling"
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
