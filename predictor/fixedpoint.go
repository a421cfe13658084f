package predictor

import (
	"bandmate.dev/bandmate/units"
)

// Bounds of fixedPoint.
const (
	closeEnough    = 1e-8 // how far f(p) may be from p
	illinoisSteps  = 24
	bisectionSteps = 40 // 2^-40 of what is left between low and high
)

// fixedPoint returns p with f(p) = p between low and high, for a continuous f
// that is above low there and not above high at high. It searches by regula falsi
// in the Illinois form (Dowell and Jarratt, BIT 11, 1971), in which an end that
// stays twice counts half, and goes on by bisection where that is slow. Where
// f(p) = p more than once it finds one of them, always the same.
func fixedPoint(f func(units.NormalizedPerformance) units.NormalizedPerformance, low, high units.NormalizedPerformance) units.NormalizedPerformance {
	above, below := f(low)-low, f(high)-high
	if below >= 0 {
		return high
	}
	lastAbove, lastBelow := false, false
	for step := range illinoisSteps + bisectionSteps {
		p := high - below*(high-low)/(below-above)
		if step >= illinoisSteps {
			p = (low + high) / 2
		}
		switch off := f(p) - p; {
		case off > closeEnough:
			if low, above = p, off; lastAbove {
				below /= 2
			}
			lastAbove, lastBelow = true, false
		case off < -closeEnough:
			if high, below = p, off; lastBelow {
				above /= 2
			}
			lastAbove, lastBelow = false, true
		default:
			return p
		}
	}
	return high
}
