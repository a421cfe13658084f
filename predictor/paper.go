package predictor

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// predictPaper predicts by one of the paper's methods: the target's curve read
// at the sum of the co-runners' contentiousness.
func predictPaper(target *Application, corunners []*Application, o Options) Prediction {
	method, _ := o.Method.paperMethod()
	pressure := pressureOf(corunners)
	answer := method.read(target, pressure)
	p := newPrediction(target, corunners, o.Method)
	p.set(answer.performance)
	p.warn(target.warnings...)
	p.warn(answer.warnings...)
	p.Interval = method.doubt(target, corunners, pressure, answer).interval(answer.performance)
	if o.Explain {
		p.Explanation = answer.explain(pressure)
	}
	apps := append([]*Application{target}, corunners...)
	p.setCorunners(apps, func(i int) units.NormalizedPerformance {
		others := slices.Delete(slices.Clone(apps), i, i+1)
		return method.read(apps[i], pressureOf(others)).performance
	})
	return p
}

// unpredictable says why the slowdown of co-runner c beside the target cannot
// be predicted, or nothing.
func unpredictable(c, target *Application) string {
	switch {
	case c.paper == nil:
		return fmt.Sprintf("slowdown of %s: %v", c.name, ErrNoCurves)
	case !target.trafficKnown:
		return fmt.Sprintf("slowdown of %s: of %s, %v", c.name, target.name, ErrNoContentiousness)
	default:
		return ""
	}
}

// answer is what reading the curves of an application gave.
type answer struct {
	performance units.NormalizedPerformance
	readings    []Reading
	warnings    []string
}

// read applies a method of the paper to the curves of a.
func (m paperMethod) read(a *Application, pressure units.Traffic) answer {
	family := a.paper.family(m.family())
	share, known := pressure.ReadShare()
	if !known {
		return answer{performance: 1}
	}
	bracket, warnings := m.bracket(a, family, share)
	result := answer{warnings: warnings}
	total := pressure.Total()
	result.performance = bracket.Mix(
		result.readCurve(family, bracket.Lower, total, 1-bracket.Scale),
		result.readCurve(family, bracket.Upper, total, bracket.Scale),
	)
	if high := highest(family, bracket); total > high {
		result.warnings = append(result.warnings, fmt.Sprintf(
			"%s: pressure of %v is above the %v its curve was measured to", a.name, total, high))
	}
	return result
}

// bracket chooses the curves that the method reads.
func (m paperMethod) bracket(a *Application, family *curves.Family, share units.ReadShare) (curves.Bracket, []string) {
	switch m.selection {
	case single75:
		return bracketAt75(a, family)
	case estimated:
		return bracketEstimated(a, family, share)
	default:
		i := family.Nearest(share)
		return curves.Bracket{Lower: i, Upper: i}, nil
	}
}

// nearEnough is how far a measured read share may lie from the one a method of
// the paper asks for before a warning says so.
const nearEnough = 0.02

func bracketAt75(a *Application, family *curves.Family) (curves.Bracket, []string) {
	const wanted = units.ReadShare(0.75)
	i := family.Nearest(wanted)
	if share, _ := family.Member(i); within(share, wanted) {
		return curves.Bracket{Lower: i, Upper: i}, nil
	}
	return family.Bracket(wanted), []string{fmt.Sprintf(
		"%s: no curve at %v reads was measured: it is estimated from the nearest ones", a.name, wanted)}
}

func bracketEstimated(a *Application, family *curves.Family, share units.ReadShare) (curves.Bracket, []string) {
	const half, all = units.ReadShare(0.5), units.ReadShare(1)
	lower, upper := family.Nearest(half), family.Nearest(all)
	low, _ := family.Member(lower)
	high, _ := family.Member(upper)
	var warnings []string
	if !within(low, half) || !within(high, all) {
		warnings = append(warnings, fmt.Sprintf(
			"%s: the method asks for curves at %v and %v reads; those at %v and %v are used", a.name, half, all, low, high))
	}
	if lower == upper {
		return curves.Bracket{Lower: lower, Upper: upper}, warnings
	}
	scale := min(max(float64((share-low)/(high-low)), 0), 1)
	return curves.Bracket{Lower: lower, Upper: upper, Scale: scale, Held: !(share >= low && share <= high)}, warnings
}

func within(a, b units.ReadShare) bool { return a-b <= nearEnough && b-a <= nearEnough }

// highest returns the bandwidth to which both curves of a bracket were measured.
func highest(family *curves.Family, b curves.Bracket) units.Bandwidth {
	_, lower := family.Member(b.Lower)
	_, upper := family.Member(b.Upper)
	_, lowerHigh := lower.Domain()
	_, upperHigh := upper.Domain()
	return min(lowerHigh, upperHigh)
}

// readCurve reads the i-th curve and keeps the reading where it counts.
func (r *answer) readCurve(family *curves.Family, i int, b units.Bandwidth, weight float64) units.NormalizedPerformance {
	share, curve := family.Member(i)
	value := curve.At(b)
	if weight == 0 {
		return value
	}
	r.readings = append(r.readings, newReading(share, curve, weight, b, value))
	return value
}

func newReading(share units.ReadShare, curve *curves.Curve, weight float64, b units.Bandwidth, value units.NormalizedPerformance) Reading {
	lower, upper := curve.Segment(b)
	return Reading{
		ReadShare: share, Kind: curve.Kind(), Weight: weight, BytesPerSecond: b,
		Segment: [2]SegmentPoint{
			{lower.Bandwidth, lower.Performance},
			{upper.Bandwidth, upper.Performance},
		},
		NormalizedPerformance: value,
	}
}

// explain puts the readings into words.
func (r *answer) explain(pressure units.Traffic) *Explanation {
	terms := make([]string, len(r.readings))
	for i, reading := range r.readings {
		terms[i] = fmt.Sprintf("%.4f", reading.NormalizedPerformance)
		if len(r.readings) > 1 {
			terms[i] += fmt.Sprintf("·%.3f", reading.Weight)
		}
	}
	equation := "P = 1 without traffic"
	if len(terms) > 0 {
		equation = fmt.Sprintf("P(%v) = %s = %.4f", pressure.Total(), strings.Join(terms, " + "), r.performance)
	}
	return &Explanation{Equation: equation, Readings: r.readings}
}
