package cache

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Bounds of descend.
const (
	nudge       = 1e-3 // of a number, for its derivative
	enough      = 1e-4 // relative gain below which the descent ends
	mostDamping = 1e6
	longestStep = 1.0 // of a number, in one go
	reach       = 12  // of a logarithm, from 0
)

// descend goes at most so many steps from a candidate towards the least sum of squared
// residuals, by the method of Levenberg and Marquardt (Marquardt, J. SIAM 11(2), 1963).
func (s *search) descend(c candidate, points []Point, steps int) candidate {
	residuals := func(at []float64) ([]float64, float64) {
		tried := candidate{at: at, orders: c.orders, overlap: c.overlap}
		r := s.all(&tried, points)
		var sum float64
		for _, x := range r {
			sum += x * x
		}
		if math.IsNaN(sum) {
			sum = math.Inf(1)
		}
		return r, sum
	}
	now, left := residuals(c.at)
	c.squares = left
	damping := 1e-2
	for range steps {
		derivatives := make([][]float64, len(c.at))
		for i := range c.at {
			nudged := slices.Clone(c.at)
			nudged[i] += nudge
			derivatives[i], _ = residuals(nudged)
			for k := range now {
				derivatives[i][k] = (derivatives[i][k] - now[k]) / nudge
			}
		}
		gained := false
		for ; damping < mostDamping; damping *= 4 {
			step, ok := solve(derivatives, now, damping)
			if !ok {
				continue
			}
			tried := slices.Clone(c.at)
			for i := range tried {
				tried[i] = min(max(tried[i]-min(max(step.AtVec(i), -longestStep), longestStep), -reach), reach)
			}
			if r, sum := residuals(tried); sum < left {
				gained = sum < left*(1-enough)
				c.at, now, left = tried, r, sum
				damping = max(damping/5, 1e-6)
				break
			}
		}
		c.squares = left
		if !gained {
			break
		}
	}
	return c
}

// solve returns the step for a damping; false where the matrix is singular.
func solve(derivatives [][]float64, now []float64, damping float64) (*mat.VecDense, bool) {
	n := len(derivatives)
	matrix, gradient := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		gradient.SetVec(i, dot(derivatives[i], now))
		for j := i; j < n; j++ {
			matrix.SetSym(i, j, dot(derivatives[i], derivatives[j]))
		}
		matrix.SetSym(i, i, matrix.At(i, i)*(1+damping)+1e-9)
	}
	var factor mat.Cholesky
	if !factor.Factorize(matrix) {
		return nil, false
	}
	step := mat.NewVecDense(n, nil)
	return step, factor.SolveVecTo(step, gradient) == nil
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
