package design

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"bandmate.dev/bandmate/units"
)

// terms is the number of coefficients of the logarithm of the sensitivity θ:
// its height, its slopes over read share and level, their product, its curvature
// over the read share, and what an unpaced interferer does differently.
const terms = 6

// basis evaluates the terms at a setting, each about −1 to 1 over what is
// usually measured.
func basis(s Setting) [terms]float64 {
	share, level := (float64(s.ReadShare)-0.75)/0.25, (s.Level-0.75)/0.25
	unpaced := 0.0
	if s.Level == 1 {
		unpaced = 1
	}
	return [terms]float64{1, share, level, share * level, share*share - 2./3, unpaced}
}

// The prior of each coefficient. The height is nearly free. The others are a little
// wider than those of the applications of both simulated platforms, whose θ the terms
// fit to a factor of e^0.07 (pairs and groups were not used).
var (
	priorMean = [terms]float64{-2.5, -0.15, -0.1, 0, 0, 0}
	priorSD   = [terms]float64{2.5, 0.25, 0.3, 0.1, 0.2, 0.25}
)

// modelError is the standard deviation of the logarithm of θ about the terms.
const modelError = 0.1

// posterior is a normal distribution of the coefficients of an application's sensitivity.
type posterior struct {
	mean       [terms]float64
	covariance *mat.SymDense
}

// theta returns the most likely sensitivity at a setting.
func (p *posterior) theta(s Setting) float64 { return math.Exp(dot(basis(s), p.mean)) }

// spread returns the standard deviation of the logarithm of θ at a setting.
func (p *posterior) spread(s Setting) float64 {
	b := basis(s)
	v := mat.NewVecDense(terms, b[:])
	return math.Hypot(math.Sqrt(math.Max(mat.Inner(v, p.covariance, v), 0)), modelError)
}

func dot(a, b [terms]float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

const (
	// fitSteps bounds the Gauss-Newton steps.
	fitSteps = 60
	// longestStep bounds the change of a coefficient in one of them.
	longestStep = 1.0
	// fitted is the change of the coefficients that counts as none.
	fitted = 1e-6
	// difference is the step of numerical derivatives by the logarithm of θ.
	difference = 1e-3
)

// fit finds the most likely coefficients by the Gauss–Newton method.
func (d *Design) fit() *posterior {
	p := &posterior{mean: priorMean, covariance: mat.NewSymDense(terms, nil)}
	for i, sd := range priorSD {
		p.covariance.SetSym(i, i, sd*sd)
	}
	for range fitSteps {
		information := mat.NewSymDense(terms, nil)
		gradient := mat.NewVecDense(terms, nil)
		for i := range terms {
			weight := 1 / (priorSD[i] * priorSD[i])
			information.SetSym(i, i, weight)
			gradient.SetVec(i, weight*(priorMean[i]-p.mean[i]))
		}
		for _, o := range d.seen {
			expected, slope := d.slopeOf(o, p.theta(o.Setting))
			// The error of the model counts as noise.
			noise := math.Hypot(o.Noise, modelError*slope)
			b := basis(o.Setting)
			for i := range terms {
				gradient.SetVec(i, gradient.AtVec(i)+slope*b[i]*float64(o.Performance-expected)/(noise*noise))
				for j := i; j < terms; j++ {
					information.SetSym(i, j, information.At(i, j)+slope*slope*b[i]*b[j]/(noise*noise))
				}
			}
		}
		var factors mat.Cholesky
		if !factors.Factorize(information) {
			return p // the prior keeps it positive definite but for overflow
		}
		var step mat.VecDense
		if err := factors.SolveVecTo(&step, gradient); err != nil {
			return p
		}
		covariance := mat.NewSymDense(terms, nil)
		if err := factors.InverseTo(covariance); err != nil {
			return p
		}
		p.covariance = covariance
		change := 0.0
		for i := range terms {
			by := math.Max(math.Min(step.AtVec(i), longestStep), -longestStep)
			p.mean[i] += by
			change = math.Max(change, math.Abs(by))
		}
		if change < fitted {
			break
		}
	}
	return p
}

// slope returns the expected performance at a setting and its derivative by the
// logarithm of θ.
func (d *Design) slope(s Setting, theta float64) (units.NormalizedPerformance, float64) {
	supply := d.supply(s.ReadShare)
	return derive(theta, func(theta float64) units.NormalizedPerformance {
		return supply.beside(d.own, theta, s.Level).performance
	})
}

// slopeOf is slope where it was seen what the interferer achieved.
func (d *Design) slopeOf(o Observation, theta float64) (units.NormalizedPerformance, float64) {
	supply := d.supply(o.ReadShare)
	return derive(theta, func(theta float64) units.NormalizedPerformance {
		return supply.besideKnown(d.own, theta, o.Achieved)
	})
}

func derive(theta float64, performance func(float64) units.NormalizedPerformance) (units.NormalizedPerformance, float64) {
	up, down := performance(theta*math.Exp(difference)), performance(theta*math.Exp(-difference))
	return performance(theta), float64(up-down) / (2 * difference)
}
