package stats

import "math"

// GoldenSection returns where f is least between low and high, and its value there. It
// evaluates f steps+2 times and ends within 0.618^steps of the interval, if f has one
// minimum there (Kiefer, Proceedings of the AMS 4(3), 1953).
func GoldenSection(low, high float64, steps int, f func(float64) float64) (at, value float64) {
	ratio := (math.Sqrt(5) - 1) / 2
	a, b := high-ratio*(high-low), low+ratio*(high-low)
	fa, fb := f(a), f(b)
	for range steps {
		if fa < fb {
			high, b, fb = b, a, fa
			a = high - ratio*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + ratio*(high-low)
			fb = f(b)
		}
	}
	if fa < fb {
		return a, fa
	}
	return b, fb
}
