package predictor

import (
	"cmp"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// response is how an application answers to one read share of the interferer:
// its performance, and what the interferer still achieved, both against what
// the interferer reaches alone.
type response struct {
	share         units.ReadShare
	performance   *curves.Curve
	achievedKnown bool
	knots         []knot // of achieved bandwidth, from (0, 0), both strictly increasing
}

// knot relates the interferer alone to the interferer beside the application.
type knot struct {
	solo, achieved units.Bandwidth
}

// slopeAtLeast is the least slope of achieved against solo bandwidth. Where
// memory is saturated the interferer achieves no more however hard it pushes,
// and the level that achieved a bandwidth would not be defined; the slope keeps
// the inverse continuous.
const slopeAtLeast = 0.02

// compileResponses builds one response per read share from the profile's
// curves and their weighted points.
func compileResponses(chosen []v1alpha1.SensitivityCurve, sets []curves.Set) (*curves.Family, []response, error) {
	family, err := curves.FitFamily(curves.Monotone, sets)
	if err != nil {
		return nil, nil, err
	}
	responses := make([]response, family.Len())
	for i := range responses {
		share, curve := family.Member(i)
		responses[i] = response{share: share, performance: curve}
		var points []v1alpha1.CurvePoint
		for _, c := range chosen {
			if units.ReadShare(c.ReadShare) == share {
				points = append(points, c.Points...)
			}
		}
		responses[i].knots, responses[i].achievedKnown = achievedKnots(points)
	}
	return family, responses, nil
}

// achievedKnots returns the achieved bandwidth against the solo bandwidth,
// strictly increasing; false unless every point recorded it.
func achievedKnots(points []v1alpha1.CurvePoint) ([]knot, bool) {
	knots := []knot{{0, 0}}
	ordered := slices.Clone(points)
	slices.SortFunc(ordered, func(a, b v1alpha1.CurvePoint) int {
		return cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond)
	})
	for _, p := range ordered {
		if p.AchievedBytesPerSecond == nil {
			return nil, false
		}
		last := knots[len(knots)-1]
		solo := units.Bandwidth(p.InterfererBytesPerSecond)
		if solo <= last.solo {
			continue
		}
		least := last.achieved + slopeAtLeast*(solo-last.solo)
		knots = append(knots, knot{solo, max(units.Bandwidth(*p.AchievedBytesPerSecond), least)})
	}
	return knots, len(knots) > 1
}

// level returns the bandwidth of the interferer alone at which it achieved the
// actual bandwidth beside the application, by linear interpolation; beyond the
// highest level it returns that level and what is missing to the actual one.
func (r *response) level(actual units.Bandwidth) (solo, beyond units.Bandwidth) {
	last := r.knots[len(r.knots)-1]
	if actual >= last.achieved {
		return last.solo, actual - last.achieved
	}
	i, _ := slices.BinarySearchFunc(r.knots, actual, func(k knot, b units.Bandwidth) int {
		return cmp.Compare(k.achieved, b)
	})
	if i == 0 {
		return 0, 0
	}
	low, high := r.knots[i-1], r.knots[i]
	part := (actual - low.achieved) / (high.achieved - low.achieved)
	return low.solo + part*(high.solo-low.solo), 0
}
