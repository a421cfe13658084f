package pressure

import (
	"cmp"
	"math"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// AddPoint adds a point to the curve of its pressure, and returns all curves.
func AddPoint(curves []v1alpha1.SensitivityCurve, at Measured, p v1alpha1.CurvePoint) []v1alpha1.SensitivityCurve {
	i := slices.IndexFunc(curves, func(c v1alpha1.SensitivityCurve) bool {
		return c.ReadShare == float64(at.ReadShare) && c.Pattern == string(at.Pattern)
	})
	if i < 0 {
		return append(curves, v1alpha1.SensitivityCurve{
			ReadShare: float64(at.ReadShare), Pattern: string(at.Pattern), Points: []v1alpha1.CurvePoint{p},
		})
	}
	curves[i].Points = append(slices.Clone(curves[i].Points), p)
	return curves
}

// Ordered sorts curves by read share and their points by bandwidth. On a drifting
// machine two levels may reach the same bandwidth: the inferred point is dropped.
func Ordered(curves []v1alpha1.SensitivityCurve) []v1alpha1.SensitivityCurve {
	slices.SortStableFunc(curves, func(a, b v1alpha1.SensitivityCurve) int { return cmp.Compare(a.ReadShare, b.ReadShare) })
	for i := range curves {
		points := curves[i].Points
		slices.SortStableFunc(points, func(a, b v1alpha1.CurvePoint) int {
			return cmp.Or(cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond), cmp.Compare(b.Repeats, a.Repeats))
		})
		curves[i].Points = slices.CompactFunc(points, func(a, b v1alpha1.CurvePoint) bool {
			return math.Abs(a.InterfererBytesPerSecond-b.InterfererBytesPerSecond) <= 1e-6*b.InterfererBytesPerSecond
		})
	}
	return curves
}
