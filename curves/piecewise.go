package curves

import (
	"cmp"
	"slices"

	"bandmate.dev/bandmate/internal/stats"
)

// piecewise joins knots by straight lines. It is one array: of thousands of profiles, the
// garbage collector visits every array of every curve.
type piecewise []knot

// knot is a point, and the slope of the line to the next one.
type knot struct{ x, y, slope float64 }

// Predict returns the value at x, beyond the knots that of the nearest one.
func (p piecewise) Predict(x float64) float64 {
	next, found := slices.BinarySearchFunc(p, x, func(k knot, x float64) int { return cmp.Compare(k.x, x) })
	switch {
	case found:
		return p[next].y
	case next == 0:
		return p[0].y
	}
	k := &p[next-1]
	return k.y + k.slope*(x-k.x)
}

// fitInterpolation joins (0, 1) and the points by straight lines.
func fitInterpolation(points []Point) predictor { return join(points) }

// fitMonotone regresses the points to a sequence that never rises, caps it at
// 1, and joins (0, 1) and it by straight lines. It also returns the number of
// parameters used: the number of distinct values of the regression.
//
// A monotone cubic (Fritsch and Butland 1984) in place of the lines predicted
// worse on both simulated platforms, with and without noise: between few points
// it bulges above the steep part of a curve that saturates.
func fitMonotone(points []Point) (predictor, int) {
	line := join(points)
	ys, weights := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		ys[i], weights[i] = float64(p.Performance), p.Weight
	}
	blocks := stats.Antitonic(ys, weights)
	for i, y := range ys {
		line[i+1].y = min(y, 1)
	}
	line.connect()
	return line, blocks
}

// join joins (0, 1) and points, whose bandwidths increase strictly.
func join(points []Point) piecewise {
	line := make(piecewise, 1, len(points)+1)
	line[0].y = 1
	for _, p := range points {
		line = append(line, knot{x: float64(p.Bandwidth), y: float64(p.Performance)})
	}
	line.connect()
	return line
}

// connect sets the slopes; that of the last knot stays 0.
func (p piecewise) connect() {
	for i := range p[1:] {
		p[i].slope = (p[i+1].y - p[i].y) / (p[i+1].x - p[i].x)
	}
}
