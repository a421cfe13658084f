package predictor

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

// Options say how to predict.
type Options struct {
	// Method is the way to predict; the zero value means Default.
	Method Method
	// Explain adds an Explanation to the prediction.
	Explain bool
	// Together says that all applications start at the same time and each
	// co-runner starts again when it ends, as in a measured co-run. Calibrated
	// applications then go through their time lines; without it, without time
	// lines and in all other methods, phases meet at random.
	Together bool
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	_, err := ParseMethod(string(o.Method))
	return err
}

// Prediction is how a target fares beside its co-runners. Its JSON form is
// that of `bandmate predict -o json`.
type Prediction struct {
	Target    string   `json:"target"`
	Corunners []string `json:"corunners"`
	// Pressure is the sum of the co-runners' contentiousness.
	Pressure Pressure `json:"pressure"`
	// NormalizedPerformance is the target's, above 0 to 1.
	NormalizedPerformance units.NormalizedPerformance `json:"normalizedPerformance"`
	// Slowdown is 1 ÷ NormalizedPerformance.
	Slowdown units.Slowdown `json:"slowdown"`
	// Interval holds the slowdown with a probability of 90%.
	Interval Interval `json:"interval"`
	// Extrapolated is how far the co-runners' traffic exceeds the highest
	// pressure that the target was measured at; zero, and absent in JSON, where it
	// does not. Only Default extrapolates: the other methods hold the last point.
	Extrapolated units.Bandwidth `json:"extrapolatedBytesPerSecond,omitempty"`
	Method       Method          `json:"method"`
	// Basis is what Default predicted from; absent for the other methods.
	Basis Basis `json:"basis,omitempty"`
	// Warnings say what may be doubted; never nil, so that JSON shows [].
	Warnings []string `json:"warnings"`
	// CorunnerSlowdowns are the slowdowns of the co-runners by name, each
	// beside the target and the other co-runners. A co-runner that cannot be
	// predicted (a warning says why) is absent. Two co-runners of one name are
	// one application twice, which slow down alike.
	CorunnerSlowdowns map[string]units.Slowdown `json:"corunnerSlowdowns"`
	// Parts are what the slowdown is made of where the target communicates; absent
	// where the profile says nothing of that.
	Parts *communication.Shown `json:"parts,omitempty"`
	// Explanation is present when asked for.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// Basis is what the default method predicts from.
type Basis string

const (
	// MemoryModel is a model of the memory, fitted to all profiles of the machine,
	// and corrected by the target's curves (see Calibration).
	MemoryModel Basis = "memory-model"
	// Curves are the curves of the applications involved, read at the fixed point
	// of their mutual slowdown.
	Curves Basis = "curves"
)

// Pressure is the traffic that a target is exposed to.
type Pressure struct {
	// BytesPerSecond is the total of reads and writes at the controller.
	BytesPerSecond units.Bandwidth `json:"bytesPerSecond"`
	// ReadShare is the traffic-weighted read share; absent without traffic.
	ReadShare *units.ReadShare `json:"readShare,omitempty"`
}

// Interval is a range of slowdowns.
type Interval struct {
	Low  units.Slowdown `json:"low"`
	High units.Slowdown `json:"high"`
}

// Explanation shows how a prediction was made.
type Explanation struct {
	// Equation is the formula with its numbers filled in.
	Equation string `json:"equation"`
	// Readings are the curves that were read, and where.
	Readings []Reading `json:"readings"`
	// Iterations are the steps of Default toward the fixed point, the first
	// being everyone undisturbed; empty for the other methods.
	Iterations []Iteration `json:"iterations,omitempty"`
}

// Reading is one curve read at one bandwidth.
type Reading struct {
	// ReadShare is that of the curve.
	ReadShare units.ReadShare `json:"readShare"`
	// Kind says how the curve was drawn.
	Kind curves.Kind `json:"kind"`
	// Weight is the part of this curve in the result (eq. 3), 0 to 1.
	Weight float64 `json:"weight"`
	// ActualBytesPerSecond is the co-runners' traffic beside the target, by
	// which Default finds the bandwidth; zero for the other methods.
	ActualBytesPerSecond units.Bandwidth `json:"actualBytesPerSecond,omitempty"`
	// BytesPerSecond is where the curve was read, on its x axis: what the
	// interferer reaches alone.
	BytesPerSecond units.Bandwidth `json:"bytesPerSecond"`
	// Segment is the two measured neighbors; the first is (0, 1) below the
	// lowest point, and beyond the highest both are the highest.
	Segment [2]SegmentPoint `json:"segment"`
	// NormalizedPerformance is what the curve gives there.
	NormalizedPerformance units.NormalizedPerformance `json:"normalizedPerformance"`
}

// SegmentPoint is one end of the segment of a curve.
type SegmentPoint struct {
	BytesPerSecond        units.Bandwidth             `json:"bytesPerSecond"`
	NormalizedPerformance units.NormalizedPerformance `json:"normalizedPerformance"`
}

// Iteration is one step toward the fixed point.
type Iteration struct {
	// NormalizedPerformance is that of the target, then of each co-runner.
	NormalizedPerformance []units.NormalizedPerformance `json:"normalizedPerformance"`
}

var (
	// ErrNoCurves is returned for a target without sensitivity curves.
	ErrNoCurves = errors.New("no sensitivity curves: onboard the application")
	// ErrNoContentiousness is returned for a co-runner whose traffic is unknown.
	ErrNoContentiousness = errors.New("contentiousness is unknown: measure or import it")
)

// Predict says how target fares beside the co-runners, all of them at once. Those
// that communicate are taken to share one network card.
// Without co-runners it is undisturbed. It fails on options that do not
// validate, with ErrNoCurves for a target without curves, and with
// ErrNoContentiousness for co-runners of unknown traffic, naming each.
func Predict(target *Application, corunners []*Application, o Options) (Prediction, error) {
	if err := o.Validate(); err != nil {
		return Prediction{}, err
	}
	if target.paper == nil {
		return Prediction{}, fmt.Errorf("target %s: %w", target.name, ErrNoCurves)
	}
	var faults []error
	for _, c := range corunners {
		if !c.trafficKnown {
			faults = append(faults, fmt.Errorf("co-runner %s: %w", c.name, ErrNoContentiousness))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Prediction{}, err
	}
	o.Method, _ = ParseMethod(string(o.Method))
	var p Prediction
	if o.Method == Default {
		p = predictDefault(target, corunners, o)
	} else {
		p = predictPaper(target, corunners, o)
	}
	p.communicate(target, corunners)
	return p, nil
}

// pressureOf sums the contentiousness of applications.
func pressureOf(apps []*Application) units.Traffic {
	var sum units.Traffic
	for _, a := range apps {
		sum = sum.Add(a.corunner)
	}
	return sum
}

func newPrediction(target *Application, corunners []*Application, m Method) Prediction {
	p := Prediction{
		Target:            target.name,
		Corunners:         make([]string, len(corunners)),
		Method:            m,
		Warnings:          []string{},
		CorunnerSlowdowns: make(map[string]units.Slowdown, len(corunners)),
	}
	for i, c := range corunners {
		p.Corunners[i] = c.name
	}
	sum := pressureOf(corunners)
	p.Pressure.BytesPerSecond = sum.Total()
	if share, known := sum.ReadShare(); known {
		p.Pressure.ReadShare = &share
	}
	return p
}

func (p *Prediction) set(performance units.NormalizedPerformance) {
	p.NormalizedPerformance = performance
	p.Slowdown = performance.Slowdown()
}

func (p *Prediction) warn(warnings ...string) { p.Warnings = append(p.Warnings, warnings...) }
