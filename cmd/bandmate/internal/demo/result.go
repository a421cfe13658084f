package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// Result is `demo -o json`.
type Result struct {
	Machine      machine       `json:"machine"`
	Applications []application `json:"applications"`
	Pairs        []pair        `json:"pairs"`
	// MeanAbsErrorPoints and MaxAbsErrorPoints are of Pairs; absent without any.
	MeanAbsErrorPoints *float64 `json:"meanAbsErrorPoints,omitempty"`
	MaxAbsErrorPoints  *float64 `json:"maxAbsErrorPoints,omitempty"`
	// Noise is the median standard error of the measured pairs, in points; absent
	// where it is not known.
	Noise          *float64 `json:"noisePoints,omitempty"`
	DroppedSamples int      `json:"droppedSamples"`
	Warnings       []string `json:"warnings"`
}

type machine struct {
	Name                 string  `json:"name"`
	CPUModel             string  `json:"cpuModel"`
	CPUs                 int     `json:"cpus"`
	VirtualMachine       bool    `json:"virtualMachine"`
	Regime               string  `json:"regime"`
	RoundTripNanoseconds float64 `json:"roundTripNanoseconds"`
	SharedLastLevelCache *bool   `json:"sharedLastLevelCache,omitempty"`
}

type application struct {
	Name                string           `json:"name"`
	SoloSeconds         float64          `json:"soloSeconds"`
	ReadBytesPerSecond  float64          `json:"readBytesPerSecond"`
	WriteBytesPerSecond float64          `json:"writeBytesPerSecond"`
	ReadShare           *units.ReadShare `json:"readShare,omitempty"`
	RelativeUncertainty *float64         `json:"relativeUncertainty,omitempty"`
}

// pair compares normalized performances, shares of one.
type pair struct {
	Target    string  `json:"target"`
	Corunner  string  `json:"corunner"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
	// ErrorPoints is |predicted − measured| in points of normalized performance.
	ErrorPoints float64 `json:"errorPoints"`
	Regime      string  `json:"regime"`

	Interval [2]float64 `json:"-"`
}

// NewResult predicts every pair and compares.
func NewResult(v *onboard.Tried) (Result, error) {
	spec := v.Machine.Spec
	result := Result{
		Machine: machine{
			Name: v.Machine.Name, CPUModel: spec.CPUModel, CPUs: spec.CPUs, VirtualMachine: spec.VirtualMachine,
			Regime: string(v.Class), RoundTripNanoseconds: float64(v.RoundTrip.Nanoseconds()),
			SharedLastLevelCache: spec.Measurement.SharedLastLevelCache,
		},
		DroppedSamples: v.Dropped,
		Warnings:       append([]string{}, spec.Warnings...),
	}
	known := advisor.New(v.Profiles, []*v1alpha1.MachineProfile{v.Machine})
	compiled := map[string]*predictor.Application{}
	for _, p := range v.Profiles {
		e := known.Lookup(p.Name, p.Spec.Machine.Name)
		if e.Application == nil {
			return result, fmt.Errorf("profile of %s: %s", p.Name, e.Reason)
		}
		compiled[p.Name] = e.Application
		contentiousness := p.Spec.Contentiousness
		traffic := units.Traffic{Read: units.Bandwidth(contentiousness.ReadBytesPerSecond), Write: units.Bandwidth(contentiousness.WriteBytesPerSecond)}
		application := application{
			Name: p.Name, SoloSeconds: p.Spec.Solo.Seconds,
			ReadBytesPerSecond: contentiousness.ReadBytesPerSecond, WriteBytesPerSecond: contentiousness.WriteBytesPerSecond,
			RelativeUncertainty: contentiousness.RelativeUncertainty,
		}
		if share, ok := traffic.ReadShare(); ok {
			application.ReadShare = &share
		}
		result.Applications = append(result.Applications, application)
	}
	var off, noise []float64
	var noisy []string
	for _, measured := range v.Pairs {
		if e := measured.StandardError; e > 0 && !math.IsInf(e, 0) {
			noise = append(noise, 100*e)
		}
		if measured.Repeats < leastReadings || !(measured.StandardError <= tooNoisy) {
			noisy = append(noisy, fmt.Sprintf("%s beside %s (±%.0f points)", measured.Target, measured.Corunner, 100*measured.StandardError))
			continue
		}
		p, err := predictor.Predict(compiled[measured.Target], []*predictor.Application{compiled[measured.Corunner]}, predictor.Options{})
		if err != nil {
			return result, err
		}
		difference := 100 * math.Abs(float64(p.NormalizedPerformance-measured.NormalizedPerformance))
		result.Pairs = append(result.Pairs, pair{
			Target: measured.Target, Corunner: measured.Corunner,
			Predicted: float64(p.NormalizedPerformance), Measured: float64(measured.NormalizedPerformance),
			ErrorPoints: difference, Regime: string(v.Class),
			Interval: [2]float64{float64(p.Interval.Low), float64(p.Interval.High)},
		})
		off = append(off, difference)
	}
	if len(noise) > 0 {
		result.Noise = new(stats.Median(noise))
		if *result.Noise > 100*tooNoisy {
			result.Pairs, off = nil, nil
		}
	}
	if len(off) > 0 {
		result.MeanAbsErrorPoints, result.MaxAbsErrorPoints = new(stat.Mean(off, nil)), new(slices.Max(off))
	}
	if len(v.LeftOut) > 0 {
		result.Warnings = append(result.Warnings, "left out: "+strings.Join(v.LeftOut, "; "))
	}
	if len(v.Missing) > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("not measured, because the CPUs did not stay where they were for long enough: %s", strings.Join(v.Missing, ", ")))
	}
	if len(noisy) > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("left out because the measurement is less precise than %.0f points or has fewer than %d readings: %s", 100*tooNoisy, leastReadings, strings.Join(noisy, ", ")))
	}
	for _, c := range v.Controls {
		if far := math.Abs(float64(c.NormalizedPerformance) - 1); far > noisyControl && far > 3*c.StandardError {
			result.Warnings = append(result.Warnings, fmt.Sprintf("control: %s with nothing beside it came out as %.3f ± %.3f instead of 1: this machine is too noisy to tell smaller differences", c.Target, float64(c.NormalizedPerformance), c.StandardError))
		}
	}
	return result, nil
}

// tooNoisy is the standard error of a measured pair from which it tells nothing of a
// prediction. Where it is that of most pairs, none is shown: that a few seem precise is
// chance.
const tooNoisy = 0.05

// leastReadings are so many that their spread tells how precise they are.
const leastReadings = 5

// noisyControl is how far a control may be off without a warning.
const noisyControl = 0.02
