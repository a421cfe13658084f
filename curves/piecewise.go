package curves

import (
	"gonum.org/v1/gonum/interp"

	"bandmate.dev/bandmate/internal/stats"
)

// fitInterpolation joins (0, 1) and the points by straight lines.
func fitInterpolation(points []Point) predictor {
	xs, ys := withOrigin(points)
	var line interp.PiecewiseLinear
	mustFit(&line, xs, ys)
	return &line
}

// fitMonotone regresses the points to a sequence that never rises, caps it at
// 1, and joins (0, 1) and it by straight lines. It also returns the number of
// parameters used: the number of distinct values of the regression.
//
// A monotone cubic (Fritsch and Butland 1984) in place of the lines predicted
// worse on both simulated platforms, with and without noise: between few points
// it bulges above the steep part of a curve that saturates.
func fitMonotone(points []Point) (predictor, int) {
	xs, ys := withOrigin(points)
	weights := make([]float64, len(points))
	for i, p := range points {
		weights[i] = p.Weight
	}
	blocks := stats.Antitonic(ys[1:], weights)
	for i := range ys {
		ys[i] = min(ys[i], 1)
	}
	var line interp.PiecewiseLinear
	mustFit(&line, xs, ys)
	return &line, blocks
}

func withOrigin(points []Point) (xs, ys []float64) {
	xs, ys = []float64{0}, []float64{1}
	for _, p := range points {
		xs = append(xs, float64(p.Bandwidth))
		ys = append(ys, float64(p.Performance))
	}
	return xs, ys
}

// mustFit fits at least two knots that increase strictly, which tidy and
// withOrigin guarantee and gonum asks for.
func mustFit(f interp.Fitter, xs, ys []float64) {
	if err := f.Fit(xs, ys); err != nil {
		//nolint:forbidigo // a mistake in tidy or withOrigin
		panic("curves: gonum refused strictly increasing knots: " + err.Error())
	}
}
