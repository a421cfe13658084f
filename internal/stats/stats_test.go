package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/internal/stats"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		given := slices.Clone(test.values)
		if got := stats.Median(given); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.values, got, test.want)
		}
		if !slices.Equal(given, test.values) {
			t.Errorf("%v became %v", test.values, given)
		}
	}
	if got := stats.Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

// The regression must beat, or equal, every other sequence that never rises.
func TestAntitonicIsTheBestFallingSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		value := rapid.Float64Range(0, 1)
		ys := rapid.SliceOfN(value, n, n).Draw(t, "ys")
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 10), n, n).Draw(t, "weights")
		rival := rapid.SliceOfN(value, n, n).Draw(t, "rival")
		slices.Sort(rival)
		slices.Reverse(rival)
		fitted := slices.Clone(ys)
		stats.Antitonic(fitted, weights)
		for i := 1; i < n; i++ {
			if fitted[i] > fitted[i-1] {
				t.Fatalf("rises: %v", fitted)
			}
		}
		loss := func(zs []float64) (sum float64) {
			for i, z := range zs {
				sum += weights[i] * (z - ys[i]) * (z - ys[i])
			}
			return sum
		}
		if loss(fitted) > loss(rival)+1e-9 {
			t.Fatalf("%v loses %v, %v only %v", fitted, loss(fitted), rival, loss(rival))
		}
	})
}

func TestMedianAndSpread(t *testing.T) {
	if median, spread := stats.MedianAndSpread([]float64{3, 1, 2}); median != 2 || spread != 0.5 {
		t.Errorf("median %v and spread %v, want 2 and 0.5", median, spread)
	}
	if median, spread := stats.MedianAndSpread([]float64{3}); median != 3 || !math.IsNaN(spread) {
		t.Errorf("of one value: median %v and spread %v", median, spread)
	}
}

func TestEvenly(t *testing.T) {
	xs := []int{1, 2, 3, 4, 5, 6}
	if got := stats.Evenly(xs, 3); !slices.Equal(got, []int{2, 4, 6}) {
		t.Errorf("three of six: %v", got)
	}
	if got := stats.Evenly(xs, 9); !slices.Equal(got, xs) {
		t.Errorf("nine of six: %v", got)
	}
}
