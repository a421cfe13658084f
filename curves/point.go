package curves

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/units"
)

// Point is one measurement of a sensitivity curve.
type Point struct {
	// Bandwidth is what the interferer reaches alone: finite, not negative.
	Bandwidth units.Bandwidth
	// Performance is the application's beside it: finite and above zero. Noise
	// may lift it above one.
	Performance units.NormalizedPerformance
	// Weight is the relative trust in the point, such as repeats ÷ variance:
	// finite, not negative. Zero means 1. Only Monotone and the averaging of
	// duplicates use it; the paper's fits treat all points alike.
	Weight float64
}

// ErrNoPoints is returned where no point above zero bandwidth is left to fit.
var ErrNoPoints = errors.New("no points above zero bandwidth: measure at least one level of pressure")

// Validate reports every fault of p at once.
func (p Point) Validate() error {
	var faults []error
	if !p.Bandwidth.Valid() {
		faults = append(faults, fmt.Errorf("bandwidth %v: want a finite rate of 0 or more", float64(p.Bandwidth)))
	}
	if v := float64(p.Performance); !(v > 0) || math.IsInf(v, 0) {
		faults = append(faults, fmt.Errorf("normalized performance %v: want a finite number above 0", v))
	}
	if !(p.Weight >= 0) || math.IsInf(p.Weight, 0) {
		faults = append(faults, fmt.Errorf("weight %v: want a finite number of 0 or more", p.Weight))
	}
	return errors.Join(faults...)
}

// sameBandwidth is the part of the highest bandwidth within which two points
// count as the same setting of the interferer: far below what pacing can hold.
const sameBandwidth = 1e-9

// tidy validates the points, drops those without pressure (performance alone
// is 1 by definition), orders the rest by bandwidth and averages duplicates by
// weight, so that the result is strictly increasing in bandwidth and does not
// depend on the order of the input.
func tidy(points []Point) ([]Point, error) {
	tidied := make([]Point, 0, len(points))
	var faults []error
	var highest units.Bandwidth
	for i, p := range points {
		if err := p.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("point %d: %w", i, err))
			continue
		}
		if p.Weight == 0 {
			p.Weight = 1
		}
		highest = max(highest, p.Bandwidth)
		tidied = append(tidied, p)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	closest := highest * sameBandwidth
	tidied = slices.DeleteFunc(tidied, func(p Point) bool { return p.Bandwidth <= closest })
	if len(tidied) == 0 {
		return nil, ErrNoPoints
	}
	slices.SortFunc(tidied, comparePoints)
	return mergeDuplicates(tidied, closest), nil
}

// comparePoints orders by every field: duplicates are then summed in one order
// whatever the order of the input, to the last bit.
func comparePoints(a, b Point) int {
	return cmp.Or(
		cmp.Compare(a.Bandwidth, b.Bandwidth),
		cmp.Compare(a.Performance, b.Performance),
		cmp.Compare(a.Weight, b.Weight),
	)
}

func mergeDuplicates(sorted []Point, closest units.Bandwidth) []Point {
	merged := sorted[:0]
	for start := 0; start < len(sorted); {
		end := start + 1
		for end < len(sorted) && sorted[end].Bandwidth-sorted[start].Bandwidth <= closest {
			end++
		}
		p := sorted[start]
		if end > start+1 {
			p = average(sorted[start:end])
		}
		merged = append(merged, p)
		start = end
	}
	return merged
}

// average returns the weighted mean of points of one bandwidth.
func average(points []Point) Point {
	mean := Point{Bandwidth: points[0].Bandwidth}
	for _, p := range points {
		mean.Weight += p.Weight
	}
	for _, p := range points {
		mean.Performance += p.Performance * units.NormalizedPerformance(p.Weight/mean.Weight)
	}
	return mean
}
