package profiler

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// The probes are unpaced sequential streams of an interferer. Pointer chases and
// non-temporal writers as further probes added nothing measurable.
const (
	// Reader reads every line: read share 100%.
	Reader = "reader"
	// Modifier reads and dirties every line in place: read share 50%.
	Modifier = "modifier"
)

// Probes returns the probes that a calibration and a measurement run.
func Probes() []string { return []string{Reader, Modifier} }

// ProbeReadShare returns the read share of a probe's stream; false for a name
// that is not in [Probes].
func ProbeReadShare(probe string) (float64, bool) {
	switch probe {
	case Reader:
		return 1, true
	case Modifier:
		return 0.5, true
	}
	return 0, false
}

// ProbeReading is the speed of one probe beside an application.
type ProbeReading struct {
	// Probe names the stream, as in the machine's probe map.
	Probe string
	// RelativeSpeed is the bandwidth the probe achieved beside the application
	// ÷ alone, above 0 to 2; noise may lift it a little above 1.
	RelativeSpeed float64
	// Spread is the standard deviation of RelativeSpeed; nil when unknown.
	Spread *float64
	// ApplicationPerformance is the application's normalized performance in the
	// same run, above 0 to 2. It scales the application's traffic beside the probe.
	// When nil, the application is assumed to slow down as an interferer of the
	// same traffic does.
	ApplicationPerformance *float64
	// ApplicationSpread is the standard deviation of ApplicationPerformance;
	// nil when unknown.
	ApplicationSpread *float64
}

// Noise of a relative speed or performance, as a standard deviation.
const (
	// leastSpread is what repeats of a modulated measurement differ by when
	// each is more precise than that.
	leastSpread = 0.003
	// unknownSpread is that of the median of a few whole runs on a quiet machine.
	unknownSpread = 0.02
)

func spreadOr(spread *float64, least float64) float64 {
	if spread == nil {
		return unknownSpread
	}
	return max(*spread, least)
}

// Validate reports every fault of r at once.
func (r ProbeReading) Validate() error {
	var faults []error
	fault := func(what string, v float64, want string) {
		faults = append(faults, fmt.Errorf("probe %q: %s %v: want %s; repeat the measurement", r.Probe, what, v, want))
	}
	if !ratio(r.RelativeSpeed) {
		fault("relative speed", r.RelativeSpeed, "above 0 to 2")
	}
	if p := r.ApplicationPerformance; p != nil && !ratio(*p) {
		fault("application performance", *p, "above 0 to 2")
	}
	if s := r.Spread; s != nil && !deviation(*s) {
		fault("spread", *s, "a finite number of 0 or more")
	}
	if s := r.ApplicationSpread; s != nil && !deviation(*s) {
		fault("application spread", *s, "a finite number of 0 or more")
	}
	return errors.Join(faults...)
}

// MaxRelativeSpeed is the highest speed relative to an undisturbed one that noise
// explains.
const MaxRelativeSpeed = 2

// ratio accepts a speed relative to an undisturbed one, with room for noise.
func ratio(v float64) bool { return v > 0 && v <= MaxRelativeSpeed }

func deviation(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// ReadingsFromCurves returns the readings that sensitivity curves contain: a
// sequential interferer at level 1 and at the read share of a probe is that probe; above it
// several interferers press, which are none.
// Inferred points and points without an achieved bandwidth are left out.
func ReadingsFromCurves(curves []v1alpha1.SensitivityCurve) []ProbeReading {
	var readings []ProbeReading
	for _, c := range curves {
		if c.Pattern != "" && c.Pattern != "sequential" {
			continue
		}
		probe, ok := probeOfShare(c.ReadShare)
		if !ok {
			continue
		}
		for _, p := range c.Points {
			if p.Inferred || p.Level < unpacedLevel || p.Level > 1 || p.AchievedBytesPerSecond == nil || !(p.InterfererBytesPerSecond > 0) {
				continue
			}
			readings = append(readings, ProbeReading{
				Probe:                  probe,
				RelativeSpeed:          *p.AchievedBytesPerSecond / p.InterfererBytesPerSecond,
				ApplicationPerformance: &p.NormalizedPerformance,
				ApplicationSpread:      p.Spread,
			})
		}
	}
	return readings
}

func probeOfShare(share float64) (string, bool) {
	for _, probe := range Probes() {
		if s, _ := ProbeReadShare(probe); math.Abs(s-share) < sameShare {
			return probe, true
		}
	}
	return "", false
}
