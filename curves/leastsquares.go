package curves

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// polynomial is c[0] + c[1]·u + c[2]·u² with u = x ÷ scale, which keeps the
// least-squares problem well conditioned at 10^10 bytes per second.
type polynomial struct {
	coefficients [3]float64
	scale        float64
}

func (p polynomial) Predict(x float64) float64 {
	u := x / p.scale
	return p.coefficients[0] + u*(p.coefficients[1]+u*p.coefficients[2])
}

// fitLine returns the least-squares line over the points (the paper, section
// 4.2), or the line through (0, 1) and a single point.
func fitLine(points []Point) polynomial {
	scale := float64(points[len(points)-1].Bandwidth)
	if len(points) == 1 {
		return polynomial{[3]float64{1, float64(points[0].Performance) - 1}, scale}
	}
	us, ys := scaled(points, scale)
	alpha, beta := stat.LinearRegression(us, ys, nil, false)
	return polynomial{[3]float64{alpha, beta}, scale}
}

// fitPolynomial returns the least-squares parabola over the points (the paper,
// section 4.2), or a line where fewer than three points, or three that nearly
// coincide, do not determine one.
func fitPolynomial(points []Point) polynomial {
	if len(points) < 3 {
		return fitLine(points)
	}
	scale := float64(points[len(points)-1].Bandwidth)
	us, ys := scaled(points, scale)
	design := mat.NewDense(len(us), 3, nil)
	for i, u := range us {
		design.SetRow(i, []float64{1, u, u * u})
	}
	var solution mat.VecDense
	if err := solution.SolveVec(design, mat.NewVecDense(len(ys), ys)); err != nil {
		return fitLine(points)
	}
	var fitted [3]float64
	copy(fitted[:], solution.RawVector().Data)
	return polynomial{fitted, scale}
}

func scaled(points []Point, scale float64) (us, ys []float64) {
	for _, p := range points {
		us = append(us, float64(p.Bandwidth)/scale)
		ys = append(ys, float64(p.Performance))
	}
	return us, ys
}
