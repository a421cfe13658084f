package curves

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/units"
)

// Set is the points measured at one read share of the interferer.
type Set struct {
	ReadShare units.ReadShare
	Points    []Point
}

// Family is the sensitivity curves of one application, ordered by read share.
// It is immutable and safe for concurrent use.
type Family struct {
	shares []units.ReadShare
	curves []*Curve
}

// FitFamily fits one curve per set. Sets of one read share are joined. It
// reports every fault at once; a family has at least one curve.
func FitFamily(kind Kind, sets []Set) (*Family, error) {
	if len(sets) == 0 {
		return nil, errors.New("no curves: measure the application beside the interferer at one read share at least")
	}
	ordered := slices.Clone(sets)
	slices.SortStableFunc(ordered, func(a, b Set) int { return cmp.Compare(a.ReadShare, b.ReadShare) })
	family := &Family{}
	var faults []error
	for start := 0; start < len(ordered); {
		share, points := ordered[start].ReadShare, []Point(nil)
		end := start
		for ; end < len(ordered) && cmp.Compare(ordered[end].ReadShare, share) == 0; end++ {
			points = append(points, ordered[end].Points...)
		}
		start = end
		if !share.Valid() {
			faults = append(faults, fmt.Errorf("read share %v: want 0 to 1", float64(share)))
			continue
		}
		curve, err := Fit(kind, points)
		if err != nil {
			faults = append(faults, fmt.Errorf("curve at %v reads: %w", share, err))
			continue
		}
		family.shares = append(family.shares, share)
		family.curves = append(family.curves, curve)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return family, nil
}

// Len returns the number of curves, at least one.
func (f *Family) Len() int { return len(f.curves) }

// Member returns the i-th curve and its read share, in order of read share.
func (f *Family) Member(i int) (units.ReadShare, *Curve) { return f.shares[i], f.curves[i] }

// Nearest returns the index of the curve whose read share is nearest to r, the
// paper's "right curve"; of two equally near, the one with fewer reads.
func (f *Family) Nearest(r units.ReadShare) int {
	best := 0
	for i, share := range f.shares {
		if distance(share, r) < distance(f.shares[best], r) {
			best = i
		}
	}
	return best
}

// Bracket says between which two curves of a family a read share lies.
type Bracket struct {
	// Lower and Upper are indices of curves; equal where one curve serves.
	Lower, Upper int
	// Scale is the weight of Upper, 0 to 1: (r − lower) ÷ (upper − lower).
	// With curves at 50% and 100% it is the scale of the paper's eq. 3.
	Scale float64
	// Held is true where r lies outside the measured read shares, so that the
	// nearest curve is used as it is.
	Held bool
}

// readShareTolerance is what counts as the same read share: pacing and
// counters do not tell a thousandth apart.
const readShareTolerance = 1e-3

// Bracket finds the measured neighbors of r. Outside the measured read shares
// it holds the nearest curve.
func (f *Family) Bracket(r units.ReadShare) Bracket {
	last := len(f.shares) - 1
	switch {
	case !(r > f.shares[0]): // a share that is not a number too
		return Bracket{Held: !(f.shares[0]-r <= readShareTolerance)}
	case r >= f.shares[last]:
		return Bracket{Lower: last, Upper: last, Held: r-f.shares[last] > readShareTolerance}
	}
	upper, found := slices.BinarySearch(f.shares, r)
	if found {
		return Bracket{Lower: upper, Upper: upper}
	}
	low, high := f.shares[upper-1], f.shares[upper]
	return Bracket{Lower: upper - 1, Upper: upper, Scale: float64((r - low) / (high - low))}
}

// Mix interpolates between the performances of the curves Lower and Upper by eq. 3 of
// the paper,
//
//	P = lower·(1 − Scale) + upper·Scale
//
// where the paper's curves are always those at 50% and 100% reads.
func (b Bracket) Mix(lower, upper units.NormalizedPerformance) units.NormalizedPerformance {
	scale := units.NormalizedPerformance(b.Scale)
	mixed := lower*(1-scale) + upper*scale
	// Rounding may leave the two by a bit.
	return min(max(mixed, min(lower, upper)), max(lower, upper))
}

func distance(a, b units.ReadShare) units.ReadShare {
	if a > b {
		return a - b
	}
	return b - a
}
