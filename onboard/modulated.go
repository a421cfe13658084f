package onboard

import (
	"math"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// DefaultSlicing is short against the spells of noise of a virtual machine, and
// its settling long against the 1 ms in which a stream refills a cache of 32 MiB. Programs
// may take longer ([modulation.Choosing]).
var DefaultSlicing = modulation.Slicing{Length: 3 * time.Millisecond, Settle: time.Millisecond}

// besideName names the performance of one beside another.
func besideName(one, other string) string { return one + " beside " + other }

// probeShare is how many readings a probe gets for each of another pressure. What they say
// of the application's traffic is less precise than a point of its curves.
const probeShare = 3

// sharing is how many pressures share with another one the slices in which the application
// is alone.
const sharing = 2

// pressurePoint compares an application beside a pressure with the application
// alone. At an unpaced pressure, which is a probe, the interferer's speed is
// compared too, while the application is paused.
func pressurePoint(application string, p pressure.Measured, second *bench.Stream) modulation.Point {
	point := modulation.Point{
		States: []modulation.State{bench.FirstAlone, bench.Together},
		Compare: []modulation.Comparison{
			{Name: besideName(application, p.String()), Party: 0, On: 1, Off: 0},
			{Name: besideName(p.String(), application), Party: 1, On: 1, Off: 1},
		},
		Prepare: func() error { second.Does = p.Settings(); return nil },
	}
	if p.Settings().Unpaced() {
		point.States = append(point.States, bench.SecondAlone)
		point.Compare[1].Off = 2
	}
	if _, isProbe := p.Probe(); isProbe {
		point.Share = probeShare
	}
	return point
}

// pairPoint compares two applications beside each other with each alone; one beside itself
// once.
func pairPoint(first, second Application) modulation.Point {
	point := modulation.Point{
		States: []modulation.State{bench.FirstAlone, bench.Together, bench.SecondAlone},
		Compare: []modulation.Comparison{
			{Name: besideName(first.Name, corunLabel(second)), Party: 0, On: 1, Off: 0},
			{Name: besideName(second.Name, corunLabel(first)), Party: 1, On: 1, Off: 2},
		},
	}
	if point.Compare[0].Name == point.Compare[1].Name {
		point.States, point.Compare = point.States[:2], point.Compare[:1]
	}
	return point
}

// controlPoint is the A/A control: nothing differs between its states, so that it
// has to find 1.
func controlPoint(application string) modulation.Point {
	return modulation.Point{
		States:  []modulation.State{bench.FirstAlone, bench.FirstAlone},
		Compare: []modulation.Comparison{{Name: besideName(application, control), Party: 0, On: 1, Off: 0}},
	}
}

// control names what stands beside an application in an A/A comparison.
const control = "nothing"

// circumstancesOf returns those of a class of an outcome. The blocks of other classes are
// dropped.
func circumstancesOf(o *modulation.Outcome, class regime.Class) circumstances {
	dropped := o.Dropped
	for other, blocks := range o.Blocks {
		if other != class {
			dropped += blocks
		}
	}
	return circumstances{class, time.Duration(stats.Median(o.RoundTrips[class])), dropped}
}

// estimator summarizes readings of one regime.
type estimator struct {
	readings map[string][]modulation.Reading
	session  *bench.Session
}

func (e *estimator) of(name string) (modulation.Estimate, []modulation.Reading, bool) {
	readings := e.readings[name]
	if len(readings) < modulation.FewestReadings {
		return modulation.Estimate{}, nil, false
	}
	return modulation.Summarize(readings, e.session.Random), readings, true
}

// result returns what was measured of one beside another, and of the other beside
// it where that was compared too.
func (e *estimator) result(one, other string) (sampling.Result, bool) {
	first, readings, ok := e.of(besideName(one, other))
	if !ok {
		return sampling.Result{}, false
	}
	r := sampling.Result{
		NormalizedPerformance: units.NormalizedPerformance(min(first.Performance, v1alpha1.MaxNormalizedPerformance)),
		Repeats:               len(readings), RelativeSpeed: math.NaN(), StandardError: first.StandardError,
	}
	if !math.IsInf(first.StandardError, 0) {
		sd := first.StandardError * math.Sqrt(float64(len(readings)))
		r.Spread = &sd
	}
	if second, readings, ok := e.of(besideName(other, one)); ok {
		alone, beside := medianRates(readings)
		r.Achieved, r.Alone = units.Traffic{Read: units.Bandwidth(beside)}, units.Bandwidth(alone)
		// Noise may lift it above any speed that means something; the standard error says so.
		r.RelativeSpeed, r.RelativeSpeedError = min(second.Performance, profiler.MaxRelativeSpeed), second.StandardError
	}
	return r, true
}

// medianRates returns the medians of the rates alone and beside; NaN without readings.
func medianRates(readings []modulation.Reading) (alone, beside float64) {
	var a, b []float64
	for _, r := range readings {
		a, b = append(a, r.Alone), append(b, r.Beside)
	}
	return stats.Median(a), stats.Median(b)
}

// precise reports whether every point of a plan has been measured in a regime.
func precise(o *modulation.Outcome, class regime.Class, points []modulation.Point, fewest int) bool {
	return !slices.ContainsFunc(points, func(p modulation.Point) bool {
		return slices.ContainsFunc(p.Compare, func(c modulation.Comparison) bool { return len(o.Readings[class][c.Name]) < fewest })
	})
}

// probeReadings returns the readings of the probes beside an application.
func (e *estimator) probeReadings(application string, pressures []pressure.Measured) []profiler.ProbeReading {
	var readings []profiler.ProbeReading
	for _, p := range pressures {
		probe, isProbe := p.Probe()
		r, ok := e.result(application, p.String())
		if !isProbe || !ok {
			continue
		}
		performance := float64(r.NormalizedPerformance)
		readings = append(readings, profiler.ProbeReading{
			Probe: probe, RelativeSpeed: r.RelativeSpeed, Spread: &r.RelativeSpeedError,
			ApplicationPerformance: &performance, ApplicationSpread: &r.StandardError,
		})
	}
	return readings
}
