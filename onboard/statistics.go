package onboard

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// spread returns the standard deviation; nil with fewer than two values.
func spread(values []float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	sd := stat.StdDev(values, nil)
	return &sd
}

// medianHalfWidth returns the half width of the 90% interval of the median of
// values, by the normal approximation 1.645 · 1.2533 · SD ÷ √n; +Inf with
// fewer than two values.
func medianHalfWidth(values []float64) float64 {
	sd := spread(values)
	if sd == nil {
		return math.Inf(1)
	}
	return 1.645 * 1.2533 * *sd / math.Sqrt(float64(len(values)))
}
