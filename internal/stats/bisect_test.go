package stats_test

import (
	"testing"

	"bandmate.dev/bandmate/internal/stats"
)

func TestBisect(t *testing.T) {
	for _, turn := range []float64{-1, -0.2, 0.3, 2} {
		low, high := stats.Bisect(-1, 2, 20, func(x float64) bool { return x < turn })
		if high-low != 3.0/(1<<20) || low > turn || high < turn {
			t.Errorf("a turn at %v: %v to %v", turn, low, high)
		}
	}
}
