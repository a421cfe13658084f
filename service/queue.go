package service

import "math"

// Relaxation returns the relaxation time of the M/M/1 queue in seconds, in which it forgets
// its state: 1 ÷ (μ·(1 - √ρ)²) (Abate and Whitt 1987). Rate and saturation are in requests
// per second; the result is +Inf where rate reaches saturation.
func Relaxation(rate, saturation float64) float64 {
	left := 1 - math.Sqrt(min(rate/saturation, 1))
	return 1 / (saturation * left * left)
}

// QueueSpread returns the least relative standard error of the p99 of an M/M/1 queue that
// was measured for so many seconds at a rate, both above 0: visits that met none of its long busy spells agree too
// well. Beside the error of a quantile of so many exponential latencies it has that of
// the queue, whose factor is that of simulated queues. It is smaller than the two by what
// Student's t of four visits is wider than the normal distribution.
func QueueSpread(rate, saturation, seconds float64) float64 {
	const (
		ofOneRequest    = 2.16 // √(0.99 ÷ 0.01) ÷ ln 100
		ofOneRelaxation = 1.8
		ofStudent       = 0.7
	)
	return ofStudent * math.Hypot(ofOneRequest/math.Sqrt(rate*seconds), ofOneRelaxation*math.Sqrt(Relaxation(rate, saturation)/seconds))
}
