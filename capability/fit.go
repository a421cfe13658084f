package capability

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MinFitPoints is the least number of points that a line is fitted to: two points
// leave no residual from which to estimate an interval.
const MinFitPoints = 3

// ErrTooFewPoints is wrapped when a line would have no interval.
var ErrTooFewPoints = errors.New("too few points to fit a line: want 3 or more, at different places")

// FitPoint is the measured cost for n threads or lines.
type FitPoint struct {
	N    int
	Cost Cost
}

// LineFit is a line fitted to measurements, with the half widths of the 95%
// intervals of its base and its slope (Student's t, n − 2 degrees of freedom).
type LineFit struct {
	Line                       Line
	BaseInterval, EachInterval Cost
}

// FitLine fits T(n) = α + β·n by least squares, as Ramos and Hoefler fit
// contention and multi-line transfers (section IV.A). With relative, it squares
// relative errors: where n runs over orders of magnitude, the large costs would
// otherwise decide alone, and α would be their noise.
//
// A negative α or β is returned as is; its meaning is up to the caller. Errors wrap
// ErrTooFewPoints or name the point.
func FitLine(points []FitPoint, relative bool) (LineFit, error) {
	if err := checkFit(points); err != nil {
		return LineFit{}, err
	}
	weight := func(Cost) float64 { return 1 }
	if relative {
		weight = func(c Cost) float64 { return 1 / float64(c*c) }
	}
	var total, meanN, meanCost float64
	for _, p := range points {
		w := weight(p.Cost)
		total += w
		meanN += w * float64(p.N)
		meanCost += w * float64(p.Cost)
	}
	meanN, meanCost = meanN/total, meanCost/total
	var squares, products float64
	for _, p := range points {
		d := float64(p.N) - meanN
		squares += weight(p.Cost) * d * d
		products += weight(p.Cost) * d * (float64(p.Cost) - meanCost)
	}
	each := products / squares
	base := meanCost - each*meanN
	var residual float64
	for _, p := range points {
		r := float64(p.Cost) - base - each*float64(p.N)
		residual += weight(p.Cost) * r * r
	}
	freedom := float64(len(points) - 2)
	variance := residual / freedom
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975)
	return LineFit{
		Line:         Line{Base: Cost(base), Each: Cost(each)},
		BaseInterval: Cost(t * math.Sqrt(variance*(1/total+meanN*meanN/squares))),
		EachInterval: Cost(t * math.Sqrt(variance/squares)),
	}, nil
}

func checkFit(points []FitPoint) error {
	different := map[int]bool{}
	for _, p := range points {
		if !(p.Cost > 0) || p.Cost > maxCost {
			return fmt.Errorf("cost of %d: %v ns: want above 0 to 1e9", p.N, float64(p.Cost))
		}
		different[p.N] = true
	}
	if len(different) < MinFitPoints {
		return fmt.Errorf("%d: %w", len(different), ErrTooFewPoints)
	}
	return nil
}
