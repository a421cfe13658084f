// Package stats holds the statistics that several packages share and that gonum
// lacks.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Median returns the middle of values, the mean of the two middle ones where
// their number is even; NaN without values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianAndSpread returns the median of values and their standard deviation ÷ it, which is
// NaN with fewer than two values.
func MedianAndSpread(values []float64) (median, spread float64) {
	median = Median(values)
	if len(values) < 2 {
		return median, math.NaN()
	}
	return median, stat.StdDev(values, nil) / median
}

// Antitonic replaces ys by the sequence that never rises and is nearest to it
// in weighted least squares, by pooling adjacent violators (Ayer et al., Ann.
// Math. Stat. 26, 1955), and returns the number of blocks of equal value.
// Weights are above zero, one for each of ys.
func Antitonic(ys, weights []float64) int {
	type block struct {
		value, weight float64
		end           int
	}
	var blocks []block
	for i, y := range ys {
		b := block{y, weights[i], i + 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].value <= b.value {
			last := blocks[len(blocks)-1]
			total := last.weight + b.weight
			b.value = last.value + (b.value-last.value)*(b.weight/total)
			b.weight = total
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	start := 0
	for _, b := range blocks {
		for i := start; i < b.end; i++ {
			ys[i] = b.value
		}
		start = b.end
	}
	return len(blocks)
}

// Spread returns the standard deviation of a sample; nil with fewer than two values.
func Spread(values []float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	sd := stat.StdDev(values, nil)
	return &sd
}

// Evenly returns at most n of xs, evenly, the last one included.
func Evenly[T any](xs []T, n int) []T {
	if len(xs) <= n {
		return xs
	}
	some := make([]T, n)
	for i := range some {
		some[i] = xs[(i+1)*len(xs)/n-1]
	}
	return some
}
