package evaluation

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Options restrict what the predictor sees of a data set.
type Options struct {
	// Methods to evaluate; empty means all.
	Methods []predictor.Method
	// ReadShares keeps the curves nearest to these; empty means all.
	ReadShares []units.ReadShare
	// Levels keeps the points nearest to these; empty means all.
	Levels []float64
}

// Result is the errors of every method, and every prediction.
type Result struct {
	Methods []MethodErrors `json:"methods"`
	// Rows are ordered as the data set's pairs, then as the methods.
	Rows []Row `json:"-"`
}

// MethodErrors summarizes |predicted − measured| normalized performance in
// percentage points, as a row of the paper's tables.
type MethodErrors struct {
	Name predictor.Method `json:"name"`
	// ReadShares and Points are the measured read shares and levels per read
	// share that the method could read.
	ReadShares int     `json:"readShares"`
	Points     int     `json:"points"`
	Mean       float64 `json:"meanAbsError"`
	// SD is the standard deviation of the absolute errors; 0 with one row.
	SD   float64 `json:"sdAbsError"`
	Max  float64 `json:"maxAbsError"`
	Rows int     `json:"rows"`
	// Cost is the points to measure per application ÷ 4, the cost of one curve
	// of four levels (the paper, section 4.2).
	Cost float64 `json:"cost"`
}

// Row is one prediction beside its measurement.
type Row struct {
	Target, Corunner string
	Method           predictor.Method
	Predicted        units.NormalizedPerformance
	Interval         predictor.Interval
	Measured         units.NormalizedPerformance
}

// Error returns predicted − measured in percentage points.
func (r Row) Error() float64 { return 100 * float64(r.Predicted-r.Measured) }

// Covered reports whether the interval holds the measured slowdown; one below
// 1 is noise and counts as 1.
func (r Row) Covered() bool {
	s := max(r.Measured.Slowdown(), 1)
	return r.Interval.Low <= s && s <= r.Interval.High
}

// Evaluate predicts every pair of d by every method.
func Evaluate(d *Dataset, o Options) (*Result, error) {
	methods := o.Methods
	if len(methods) == 0 {
		methods = predictor.Methods()
	}
	if len(d.Pairs) == 0 {
		return nil, errors.New("the data set has no pairs to score against")
	}
	apps, err := d.compile(o)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	for _, pair := range d.Pairs {
		for _, m := range methods {
			p, err := predictor.Predict(apps[pair.Target], []*predictor.Application{apps[pair.Corunner]}, predictor.Options{Method: m})
			if err != nil {
				return nil, fmt.Errorf("%s beside %s: %w", pair.Target, pair.Corunner, err)
			}
			result.Rows = append(result.Rows, Row{
				Target: pair.Target, Corunner: pair.Corunner, Method: m,
				Predicted: p.NormalizedPerformance, Interval: p.Interval, Measured: pair.Measured,
			})
		}
	}
	shares, levels := d.size(o)
	for i, m := range methods {
		var errorsOfMethod []float64
		for j := i; j < len(result.Rows); j += len(methods) {
			errorsOfMethod = append(errorsOfMethod, math.Abs(result.Rows[j].Error()))
		}
		result.Methods = append(result.Methods, summarize(m, shares, levels, errorsOfMethod))
	}
	return result, nil
}

func summarize(m predictor.Method, shares, levels int, absolute []float64) MethodErrors {
	s := MethodErrors{Name: m, Rows: len(absolute), Max: slices.Max(absolute)}
	s.ReadShares, s.Points = m.Reads(shares, levels)
	s.Cost = float64(s.ReadShares*s.Points) / 4
	var sum, squares float64
	for _, e := range absolute {
		sum += e
	}
	s.Mean = sum / float64(len(absolute))
	for _, e := range absolute {
		squares += (e - s.Mean) * (e - s.Mean)
	}
	if len(absolute) > 1 {
		s.SD = math.Sqrt(squares / float64(len(absolute)-1))
	}
	return s
}

// compile turns each application that a pair needs into the predictor's form.
func (d *Dataset) compile(o Options) (map[string]*predictor.Application, error) {
	apps := make(map[string]*predictor.Application, len(d.Apps))
	for i := range d.Apps {
		a := &d.Apps[i]
		app, err := predictor.Compile(a.Profile(o))
		if err != nil {
			return nil, err
		}
		if a.Local != nil {
			distance := predictor.Distance{
				TargetTraffic: a.Local.Traffic,
				TimeRatio:     a.Remote.Seconds / a.Local.Seconds,
			}
			if app, err = app.WithDistance(distance); err != nil {
				return nil, err
			}
		}
		apps[a.Name] = app
	}
	return apps, nil
}

// Profile returns what onboarding would have written, restricted to o.
func (a *App) Profile(o Options) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, a.Name
	solo := a.Remote
	if a.Local != nil {
		solo = *a.Local
	}
	p.Spec.Solo = v1alpha1.Timing{Seconds: solo.Seconds, Repeats: 1}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond:  float64(a.Remote.Traffic.Read),
		WriteBytesPerSecond: float64(a.Remote.Traffic.Write),
		Source:              "imported",
		Timeline:            a.Timeline,
	}
	p.Spec.Curves = restrict(a.Curves, o)
	return p
}

// restrict keeps the curves and points nearest to what o asks for.
func restrict(all []v1alpha1.SensitivityCurve, o Options) []v1alpha1.SensitivityCurve {
	shares := make([]float64, len(o.ReadShares))
	for i, s := range o.ReadShares {
		shares[i] = float64(s)
	}
	var kept []v1alpha1.SensitivityCurve
	for _, i := range nearest(len(all), func(i int) float64 { return all[i].ReadShare }, shares) {
		c := all[i]
		points := make([]v1alpha1.CurvePoint, 0, len(c.Points))
		for _, j := range nearest(len(c.Points), func(j int) float64 { return c.Points[j].Level }, o.Levels) {
			points = append(points, c.Points[j])
		}
		c.Points = points
		kept = append(kept, c)
	}
	return kept
}

// nearest returns the indices, ordered and each once, of the values nearest to
// the wanted ones; all of them when nothing is wanted.
func nearest(n int, value func(int) float64, wanted []float64) []int {
	var indices []int
	if len(wanted) == 0 {
		for i := range n {
			indices = append(indices, i)
		}
		return indices
	}
	for _, w := range wanted {
		best := -1
		for i := range n {
			if best < 0 || math.Abs(value(i)-w) < math.Abs(value(best)-w)-1e-9 {
				best = i
			}
		}
		if best >= 0 {
			indices = append(indices, best)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// size returns how many read shares, and levels per read share, the data set
// offers at most.
func (d *Dataset) size(o Options) (shares, levels int) {
	for _, a := range d.Apps {
		kept := restrict(a.Curves, o)
		shares = max(shares, len(kept))
		for _, c := range kept {
			levels = max(levels, len(c.Points))
		}
	}
	return shares, levels
}
