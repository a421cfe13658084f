package design

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Setting is a setting of the interferer: a point of a curve family.
type Setting struct {
	ReadShare units.ReadShare
	// Level is the share of what the interferer sustains alone, above 0 to 1.
	Level float64
}

// Supply is the capacity of the memory at one read share of the interferer.
type Supply struct {
	ReadShare units.ReadShare
	// Sustained is the bandwidth of the unpaced interferer alone.
	Sustained units.Bandwidth
	// Capacity is the observed capacity of the memory: Sustained or more.
	Capacity units.Bandwidth
}

// Validate reports every fault of s at once.
func (s Supply) Validate() error {
	var faults []error
	if !s.ReadShare.Valid() {
		faults = append(faults, fmt.Errorf("read share %v: want 0 to 1", float64(s.ReadShare)))
	}
	if !s.Sustained.Valid() || s.Sustained == 0 {
		faults = append(faults, fmt.Errorf("sustained bandwidth %v: want a finite rate above 0", float64(s.Sustained)))
	}
	if !s.Capacity.Valid() || s.Capacity < s.Sustained {
		faults = append(faults, fmt.Errorf("capacity %v: want a finite rate of the sustained %v or more", float64(s.Capacity), float64(s.Sustained)))
	}
	return errors.Join(faults...)
}

const (
	// headroom is the assumed ÷ the observed capacity of the memory, which keeps its
	// queue finite. Package predictor extrapolates with the same number.
	headroom = 1.05
	// fullest is the highest load that the queue is evaluated at.
	fullest = 0.985
	// sharpness is how abruptly a paced interferer slows when bandwidth is scarce.
	sharpness = 12
	// leastShare is the part of its sustained bandwidth that the interferer gets
	// beside any application.
	leastShare = 0.2
)

// state is the application and the interferer beside each other.
type state struct {
	performance units.NormalizedPerformance
	achieved    units.Bandwidth
}

// beside returns the state of an application of sensitivity θ and traffic own alone,
// beside the interferer at a level. Its performance p solves
//
//	1/p − 1 = θ·a ÷ (C − U)
//
// the time added by a queue, where a is the interferer's achieved bandwidth, U = own·p + a
// all traffic, and C the capacity with headroom. The interferer keeps its pace as long as
// the memory has room. Bisection finds the one solution.
func (s Supply) beside(own units.Bandwidth, theta, level float64) state {
	pace := float64(s.Sustained) * level
	var achieved units.Bandwidth
	p := bisect(func(p float64) float64 {
		room := math.Max(float64(s.Capacity)-float64(own)*p, leastShare*float64(s.Sustained))
		achieved = units.Bandwidth(pace / math.Pow(1+math.Pow(pace/room, sharpness), 1./sharpness))
		return s.slowed(own, theta, achieved, p)
	})
	return state{p, achieved}
}

// besideKnown is the performance beside an interferer whose achieved bandwidth
// was measured.
func (s Supply) besideKnown(own units.Bandwidth, theta float64, achieved units.Bandwidth) units.NormalizedPerformance {
	return bisect(func(p float64) float64 { return s.slowed(own, theta, achieved, p) })
}

// slowed is the performance of an application beside a queue that it joins at
// performance p.
func (s Supply) slowed(own units.Bandwidth, theta float64, achieved units.Bandwidth, p float64) float64 {
	capacity := float64(s.Capacity) * headroom
	load := math.Min(float64(own)*p+float64(achieved), fullest*capacity)
	return 1 / (1 + theta*float64(achieved)/(capacity-load))
}

// bisect finds the p with f(p) = p, for an f that falls.
func bisect(f func(float64) float64) units.NormalizedPerformance {
	const halvings = 32
	_, high := stats.Bisect(0, 1, halvings, func(p float64) bool { return f(p) > p })
	return units.NormalizedPerformance(high)
}

// ownFrom estimates an application's traffic alone from a run beside an unpaced
// interferer: the capacity less the interferer's bandwidth, ÷ performance. It is an upper
// bound where the two do not fill the memory.
func (s Supply) ownFrom(o Observation) units.Bandwidth {
	return max(s.Capacity-o.Achieved, 0) / units.Bandwidth(max(o.Performance, lowest))
}

// lowest bounds a measured performance away from zero.
const lowest = 0.01
