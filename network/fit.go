package network

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// Measured is a measured conflict: all communications sent the same amount at once.
type Measured struct {
	// Name appears in messages.
	Name     string
	Conflict []Communication
	// Penalties are measured, one a communication, finite and above 0.
	Penalties []float64
}

// Fit holds the parameters that describe measured conflicts best.
type Fit struct {
	Model GigabitEthernet
	// Conflicts is the number of conflicts of several communications from one node
	// that gave beta; zero means that beta was fitted together with the gammas.
	Conflicts int
	// MeanAbsError is E_abs over all communications (section VI.B), in percent.
	MeanAbsError float64
	// Warnings name parameters that no measurement depends on.
	Warnings []string
}

// FitGigabitEthernet derives the parameters of GigabitEthernet from measured
// conflicts. Beta comes, as in section V.A, from those in which one node sends
// to several others and nothing else happens: the mean of penalty ÷ degree. The
// gammas minimize the squared errors of all other conflicts. The paper solves for
// them with two communications of one conflict, which is the same if only those
// are given. A gamma that no measurement depends on is zero, with a warning.
func FitGigabitEthernet(measurements []Measured) (Fit, error) {
	if err := validateMeasured(measurements); err != nil {
		return Fit{}, err
	}
	var f Fit
	var ratios []float64
	for _, m := range measurements {
		if out, in := degrees(m.Conflict); len(m.Conflict) > 1 && len(out) == 1 && len(in) == len(m.Conflict) {
			f.Conflicts++
			for _, p := range m.Penalties {
				ratios = append(ratios, p/float64(len(m.Conflict)))
			}
		}
	}
	start := GigabitEthernet{Beta: PaperGigabitEthernet().Beta}
	if len(ratios) > 0 {
		start.Beta = math.Min(1, stat.Mean(ratios, nil))
	}
	free, warnings := freeParameters(start, measurements)
	f.Warnings = warnings
	if len(ratios) == 0 {
		beta := parameter{"beta", func(m *GigabitEthernet) *float64 { return &m.Beta }, 1e-3}
		if !start.dependsOn(beta, measurements) {
			return Fit{}, errors.New("no measured conflict depends on beta: measure one in which a node sends to two others")
		}
		free = append(free, beta)
	}
	fitted, err := minimize(start, measurements, free)
	if err != nil {
		return Fit{}, err
	}
	f.Model = fitted
	var total float64
	var n int
	for _, m := range measurements {
		predicted, err := fitted.Penalties(m.Conflict)
		if err != nil {
			return Fit{}, fmt.Errorf("conflict %q: %w", m.Name, err)
		}
		for i, p := range predicted {
			total += math.Abs(RelativeError(p, m.Penalties[i]))
			n++
		}
	}
	f.MeanAbsError = total / float64(n)
	return f, nil
}

func validateMeasured(measurements []Measured) error {
	if len(measurements) == 0 {
		return errors.New("no measured conflicts: measure at least one in which a node sends to two others")
	}
	var faults []error
	for _, m := range measurements {
		if err := Validate(m.Conflict); err != nil {
			faults = append(faults, fmt.Errorf("conflict %q: %w", m.Name, err))
		}
		if len(m.Penalties) != len(m.Conflict) {
			faults = append(faults, fmt.Errorf("conflict %q: %d penalties for %d communications", m.Name, len(m.Penalties), len(m.Conflict)))
		}
		for i, p := range m.Penalties {
			if !(p > 0) || math.IsInf(p, 0) {
				faults = append(faults, fmt.Errorf("conflict %q: penalty %d is %v: want a finite number above 0", m.Name, i+1, p))
			}
		}
	}
	return errors.Join(faults...)
}

// highestFitted bounds every parameter: gammas are below 1.
const highestFitted = 1 - 1e-9

// parameter is a parameter that minimize may change, with its lower bound.
type parameter struct {
	name string
	of   func(*GigabitEthernet) *float64
	low  float64
}

// freeParameters returns the gammas to fit, and a warning for each gamma that
// no measurement depends on.
func freeParameters(start GigabitEthernet, measurements []Measured) (free []parameter, warnings []string) {
	for _, p := range []parameter{
		{"gamma-out", func(m *GigabitEthernet) *float64 { return &m.GammaOut }, 0},
		{"gamma-in", func(m *GigabitEthernet) *float64 { return &m.GammaIn }, 0},
	} {
		if start.dependsOn(p, measurements) {
			free = append(free, p)
		} else {
			warnings = append(warnings, fmt.Sprintf("no measured conflict depends on %s: it is taken as 0; measure one in which a communication is in conflict at both of its ends", p.name))
		}
	}
	return free, warnings
}

// dependsOn reports whether a parameter changes any predicted penalty.
func (m GigabitEthernet) dependsOn(p parameter, measurements []Measured) bool {
	low, high := m, m
	*p.of(&low), *p.of(&high) = p.low, highestFitted
	for _, conflict := range measurements {
		a, _ := low.Penalties(conflict.Conflict)
		b, _ := high.Penalties(conflict.Conflict)
		for i := range a {
			if a[i] != b[i] {
				return true
			}
		}
	}
	return false
}

// minimize fits the free parameters by least squares.
func minimize(start GigabitEthernet, measurements []Measured, free []parameter) (GigabitEthernet, error) {
	if len(free) == 0 {
		return start, start.Validate()
	}
	at := func(x []float64) GigabitEthernet {
		m := start
		for i, p := range free {
			*p.of(&m) = min(max(x[i], p.low), highestFitted)
		}
		return m
	}
	cost := func(x []float64) float64 {
		m, sum := at(x), 0.0
		for _, measurement := range measurements {
			predicted, err := m.Penalties(measurement.Conflict)
			if err != nil {
				return math.Inf(1)
			}
			for i, p := range predicted {
				sum += (p - measurement.Penalties[i]) * (p - measurement.Penalties[i])
			}
		}
		return sum
	}
	x := make([]float64, len(free))
	for i, p := range free {
		x[i] = *p.of(&start) + 0.05
	}
	result, err := optimize.Minimize(optimize.Problem{Func: cost}, x, &optimize.Settings{
		Converger: &optimize.FunctionConverge{Absolute: 1e-12, Iterations: 200},
	}, &optimize.NelderMead{SimplexSize: 0.1})
	if err != nil {
		return start, fmt.Errorf("fitting the parameters: %w", err)
	}
	return at(result.X), nil
}

// RelativeError is E_rel of section VI.B in percent: above 0 where the model is
// pessimistic. The measured value must not be 0.
func RelativeError(predicted, measured float64) float64 {
	return (predicted - measured) / measured * 100
}
