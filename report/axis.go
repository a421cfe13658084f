package report

import "math"

// axis maps values from low to high onto whole places from 0 to last.
type axis struct {
	low, high float64
	last      int
}

// place returns where v lies; values outside the axis lie outside 0 to last.
func (a axis) place(v float64) int {
	return int(math.Round((v - a.low) / (a.high - a.low) * float64(a.last)))
}

// ticks returns the multiples of step from low to high.
func (a axis) ticks(step float64) []float64 {
	var ticks []float64
	slack := step * 1e-9
	for k := math.Ceil((a.low - slack) / step); k*step <= a.high+slack; k++ {
		ticks = append(ticks, k*step+0) // +0 turns a negative zero into zero
	}
	return ticks
}

// niceStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that
// divides span into at most parts parts. Span must be above 0.
func niceStep(span float64, parts int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/float64(parts))))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if span <= factor*power*float64(parts)*(1+1e-9) {
			return factor * power
		}
	}
	return 10 * power
}
