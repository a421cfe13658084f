package curves

import (
	"fmt"
	"math"

	"bandmate.dev/bandmate/units"
)

// Kind is a way to draw a curve through or near its points.
type Kind string

const (
	// Line is the paper's linear smoothing: least squares over the points,
	// without (0, 1). A single point gives the line through (0, 1) and it.
	// Beyond the highest point the line goes on, down to Floor.
	Line Kind = "line"
	// Polynomial is the paper's smoothing of degree two: least squares over
	// the points, without (0, 1). Two points give a line, one as for Line.
	// Beyond the highest point the value there is held.
	Polynomial Kind = "polynomial"
	// Interpolation joins (0, 1) and the points by straight lines (De Blanche's
	// and Memgen's way in the paper). Beyond the highest point the value there
	// is held.
	Interpolation Kind = "interpolation"
	// Monotone is weighted isotonic regression, then (0, 1) and the regressed
	// points joined by straight lines: more pressure never helps. Beyond the
	// highest point the value there is held.
	Monotone Kind = "monotone"
)

// Kinds lists every Kind.
func Kinds() []Kind { return []Kind{Line, Polynomial, Interpolation, Monotone} }

// Floor is the lowest normalized performance a curve returns, a slowdown of
// 100: a straight line may cross zero, an application never stops.
const Floor units.NormalizedPerformance = 0.01

// farthest is how many times the highest point a line is followed, so that its
// arithmetic stays finite.
const farthest = 1e6

// predictor is the part of gonum's interp.Predictor that a fit needs.
type predictor interface {
	Predict(x float64) float64
}

// Curve is a fitted sensitivity curve. It is immutable and safe for
// concurrent use.
type Curve struct {
	kind     Kind
	points   []Point
	shape    predictor
	low      float64 // domain of shape; beyond it the end values are held
	high     float64
	residual float64
}

// Fit draws a curve of the given kind. Points may come in any order; points of
// one bandwidth are averaged by weight; points without pressure are left out,
// because performance alone is 1 by definition. An error names the faulty
// point; ErrNoPoints says that none is left.
func Fit(kind Kind, points []Point) (*Curve, error) {
	tidied, err := tidy(points)
	if err != nil {
		return nil, err
	}
	c := &Curve{kind: kind, points: tidied, high: float64(tidied[len(tidied)-1].Bandwidth)}
	var parameters int
	switch kind {
	case Line:
		c.shape, parameters = fitLine(tidied), 2
		c.high = min(c.high*farthest, math.MaxFloat64)
	case Polynomial:
		c.shape, parameters = fitPolynomial(tidied), 3
	case Interpolation:
		c.shape, parameters = fitInterpolation(tidied), len(tidied)
	case Monotone:
		c.shape, parameters = fitMonotone(tidied)
	default:
		return nil, fmt.Errorf("kind of curve %q: want one of %v", kind, Kinds())
	}
	c.residual = residual(c.shape, tidied, parameters)
	return c, nil
}

// Kind returns how the curve was fitted.
func (c *Curve) Kind() Kind { return c.kind }

// At returns the normalized performance beside an interferer that reaches b
// alone, always from Floor to 1, never NaN. Beyond Domain see Kind; a
// bandwidth that is negative or NaN is read as zero.
func (c *Curve) At(b units.Bandwidth) units.NormalizedPerformance {
	if !(b > 0) {
		b = 0
	}
	x := min(max(float64(b), c.low), c.high)
	y := c.shape.Predict(x)
	return units.NormalizedPerformance(min(max(y, float64(Floor)), 1))
}

// Domain returns the lowest and the highest measured bandwidth above zero.
func (c *Curve) Domain() (low, high units.Bandwidth) {
	return c.points[0].Bandwidth, c.points[len(c.points)-1].Bandwidth
}

// Points returns the measured points, ordered, duplicates averaged. The slice
// belongs to the curve: do not change it.
func (c *Curve) Points() []Point { return c.points }

// Residual returns the standard deviation of the points about the fit, in
// normalized performance: the square root of the sum of squared residuals over
// the degrees of freedom. It is zero where the fit has as many parameters as
// points, so that nothing is left to tell noise from shape.
func (c *Curve) Residual() float64 { return c.residual }

// Segment returns the two neighboring measured points around b; the lower is
// (0, 1) below the first point, and beyond the last both are the last.
func (c *Curve) Segment(b units.Bandwidth) (lower, upper Point) {
	lower = Point{Bandwidth: 0, Performance: 1}
	for _, p := range c.points {
		if b <= p.Bandwidth {
			return lower, p
		}
		lower = p
	}
	return lower, lower
}

func residual(shape predictor, points []Point, parameters int) float64 {
	freedom := len(points) - parameters
	if freedom <= 0 {
		return 0
	}
	var sum float64
	for _, p := range points {
		d := float64(p.Performance) - shape.Predict(float64(p.Bandwidth))
		sum += d * d
	}
	return math.Sqrt(sum / float64(freedom))
}
