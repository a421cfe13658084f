package memory

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Bounds of descend.
const (
	descendSteps = 200
	nudge        = 1e-4 // of a parameter, for its derivative
	enough       = 1e-5 // relative gain below which the descent ends
	mostDamping  = 1e6
	longestStep  = 1.0 // of a parameter, in one go
)

// descend minimizes the sum of squared residuals over f.theta by the method of
// Levenberg and Marquardt (Marquardt, J. SIAM 11(2), 1963). A residual depends on
// the constants and on the loop of its own run only, which saves most of the work
// for the derivatives. It returns the remaining sum.
func (f *fit) descend() float64 {
	damping := 1e-2
	now := f.residuals(f.theta, nil)
	left := sumSquares(now)
	for range descendSteps {
		matrix, gradient := f.normal(now)
		gained := false
		for damping < mostDamping {
			step, ok := solve(matrix, gradient, damping)
			if ok {
				tried := slices.Clone(f.theta)
				for i, at := range f.parameters() {
					tried[at] -= min(max(step.AtVec(i), -longestStep), longestStep)
				}
				residuals := f.residuals(tried, nil)
				if sum := sumSquares(residuals); sum < left {
					gained = sum < left*(1-enough)
					f.theta, now, left = tried, residuals, sum
					damping = max(damping/5, 1e-6)
					break
				}
			}
			damping *= 4
		}
		if !gained {
			break
		}
	}
	for i := range f.runs {
		f.setLoop(&f.runs[i], i, f.theta)
	}
	return left
}

// parameters returns the places in theta that are fitted.
func (f *fit) parameters() []int {
	places := make([]int, 0, len(f.theta))
	places = append(places, f.active...)
	for i := range f.runs {
		places = append(places, constants+i)
	}
	for i := range f.runs {
		places = append(places, constants+len(f.runs)+i)
	}
	return places
}

// setLoop sets what theta says of run i.
func (f *fit) setLoop(r *run, i int, theta []float64) {
	r.loop.inFlight = math.Exp(theta[constants+i])
	r.loop.extra = max(theta[constants+len(f.runs)+i], leastExtra)
}

// residuals returns those of every run, two per sample, and last those of the priors.
// Where only is set, it computes that run alone.
func (f *fit) residuals(theta []float64, only *int) [][]float64 {
	m := f.model(theta)
	all := make([][]float64, len(f.runs)+1)
	for i := range f.runs {
		if only != nil && *only != i {
			continue
		}
		r := f.runs[i]
		f.setLoop(&r, i, theta)
		all[i] = m.residualsOf(&r)
	}
	for _, at := range f.active {
		p := priors()[at]
		all[len(f.runs)] = append(all[len(f.runs)], priorWeight*(theta[at]-p.mean)/p.deviation)
	}
	return all
}

func (m *Model) residualsOf(r *run) []float64 {
	r.place(m)
	values := make([]float64, 0, 2*len(r.samples)+1)
	for _, s := range r.samples {
		p, g := m.beside(r, s)
		values = append(values, p-s.performance, (g-s.achieved)/m.interferer.sustained.at(s.share))
	}
	return append(values, priorWeight*r.loop.extra/extraDeviation)
}

func sumSquares(residuals [][]float64) (squares float64) {
	for _, some := range residuals {
		squares += sum(some)
	}
	return squares
}

// normal returns JᵀJ and Jᵀr, with derivatives by differences.
func (f *fit) normal(now [][]float64) (*mat.SymDense, *mat.VecDense) {
	places := f.parameters()
	shared := len(f.active)
	derivatives := make([][][]float64, len(places))
	for i, at := range places {
		nudged := slices.Clone(f.theta)
		nudged[at] += nudge
		var only *int
		if at >= constants {
			run := (at - constants) % len(f.runs)
			only = &run
		}
		derivatives[i] = f.residuals(nudged, only)
		for k, some := range derivatives[i] {
			for j := range some {
				some[j] = (some[j] - now[k][j]) / nudge
			}
		}
	}
	matrix := mat.NewSymDense(len(places), nil)
	gradient := mat.NewVecDense(len(places), nil)
	dot := func(a, b [][]float64) (sum float64) {
		for k := range a {
			if len(a[k]) == len(b[k]) {
				for j := range a[k] {
					sum += a[k][j] * b[k][j]
				}
			}
		}
		return sum
	}
	for i := range places {
		gradient.SetVec(i, dot(derivatives[i], now))
		for j := i; j < len(places); j++ {
			if i >= shared && (j-i)%len(f.runs) != 0 {
				continue // two runs share no residual but priors, which know no runs
			}
			matrix.SetSym(i, j, dot(derivatives[i], derivatives[j]))
		}
	}
	return matrix, gradient
}

// solve returns the step for a damping; false where the matrix is singular.
func solve(matrix *mat.SymDense, gradient *mat.VecDense, damping float64) (*mat.VecDense, bool) {
	n := matrix.SymmetricDim()
	damped := mat.NewSymDense(n, nil)
	damped.CopySym(matrix)
	for i := range n {
		damped.SetSym(i, i, matrix.At(i, i)*(1+damping)+1e-12)
	}
	var factor mat.Cholesky
	if !factor.Factorize(damped) {
		return nil, false
	}
	step := mat.NewVecDense(n, nil)
	if err := factor.SolveVecTo(step, gradient); err != nil {
		return nil, false
	}
	return step, true
}
