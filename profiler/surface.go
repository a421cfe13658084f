package profiler

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"bandmate.dev/bandmate/internal/stats"
)

// piecewise is a function given by knots and straight lines between them;
// outside the knots it keeps the value of the nearest. x rises strictly.
type piecewise struct {
	x, y []float64
}

// at evaluates p, which has at least one knot.
func (p piecewise) at(x float64) float64 {
	last := len(p.x) - 1
	i := sort.SearchFloat64s(p.x, x)
	switch {
	case i == 0:
		return p.y[0]
	case i > last:
		return p.y[last]
	}
	t := (x - p.x[i-1]) / (p.x[i] - p.x[i-1])
	return p.y[i-1] + t*(p.y[i]-p.y[i-1])
}

// bends returns how far each inner knot lies from the straight line between its
// neighbors.
func (p piecewise) bends() []float64 {
	var bends []float64
	for i := 1; i < len(p.x)-1; i++ {
		t := (p.x[i] - p.x[i-1]) / (p.x[i+1] - p.x[i-1])
		bends = append(bends, p.y[i]-p.y[i-1]-t*(p.y[i+1]-p.y[i-1]))
	}
	return bends
}

// knot is a measured value with the number of repeats behind it.
type knot struct {
	x, y, weight float64
}

// falling returns the curve through (0, 1) that never rises and fits the knots best
// by weighted least squares: rises are noise. moved is the largest distance between
// a knot, clipped at 1, and the curve.
func falling(knots []knot) (curve piecewise, moved float64) {
	curve = piecewise{x: []float64{0}, y: []float64{1}}
	var weights []float64
	knots = mergeEqual(knots)
	for _, k := range knots {
		curve.x, curve.y, weights = append(curve.x, k.x), append(curve.y, min(k.y, 1)), append(weights, k.weight)
	}
	stats.Antitonic(curve.y[1:], weights)
	for i, k := range knots {
		moved = max(moved, math.Abs(min(k.y, 1)-curve.y[i+1]))
	}
	return curve, moved
}

// mergeEqual sorts knots by x and averages those of the same x.
func mergeEqual(knots []knot) []knot {
	sorted := slices.Clone(knots)
	slices.SortStableFunc(sorted, func(a, b knot) int { return cmp.Compare(a.x, b.x) })
	merged := sorted[:0]
	for _, k := range sorted {
		if n := len(merged); n > 0 && merged[n-1].x == k.x {
			last := &merged[n-1]
			w := last.weight + k.weight
			last.y = (last.y*last.weight + k.y*k.weight) / w
			last.weight = w
			continue
		}
		merged = append(merged, k)
	}
	return merged
}

// surface is a family of curves over bandwidth, one per read share in rising
// order.
type surface struct {
	shares []float64
	curves []piecewise
}

// at interpolates linearly between the curves of the neighboring read shares
// at the same bandwidth; outside the measured shares it keeps the nearest.
func (s surface) at(bandwidth, share float64) float64 {
	i, t := s.between(share)
	v := s.curves[i].at(bandwidth)
	if t > 0 {
		v += t * (s.curves[i+1].at(bandwidth) - v)
	}
	return v
}

// between returns the curve at or below share and how far share lies toward
// the next one.
func (s surface) between(share float64) (i int, t float64) {
	last := len(s.shares) - 1
	j := sort.SearchFloat64s(s.shares, share)
	switch {
	case j == 0:
		return 0, 0
	case j > last:
		return last, 0
	}
	return j - 1, (share - s.shares[j-1]) / (s.shares[j] - s.shares[j-1])
}
