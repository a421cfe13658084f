package transfer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// state is the application and the interferer beside each other on the machine
// where both were measured.
type state struct {
	// interferer is the traffic of the interferer beside the application.
	interferer units.Bandwidth
	// delay is 1 ÷ normalized performance.
	delay float64
}

// states lists a curve's points by rising traffic of the interferer, from no pressure.
// The delay never falls.
func states(points []v1alpha1.CurvePoint) []state {
	all := []state{{0, 1}}
	for _, p := range points {
		all = append(all, state{units.Bandwidth(achieved(p)), 1 / p.NormalizedPerformance})
	}
	slices.SortStableFunc(all[1:], func(a, b state) int { return cmp.Compare(a.interferer, b.interferer) })
	for i := 1; i < len(all); i++ {
		all[i].delay = max(all[i].delay, all[i-1].delay)
	}
	return all
}

// achieved returns the bandwidth of the interferer beside the application, or alone
// where that was not recorded.
func achieved(p v1alpha1.CurvePoint) float64 {
	if p.AchievedBytesPerSecond != nil {
		return *p.AchievedBytesPerSecond
	}
	return p.InterfererBytesPerSecond
}

// delayAt joins the states by straight lines. The first segment is continued below no
// pressure, the last one above the highest.
func delayAt(all []state, interferer units.Bandwidth) float64 {
	if len(all) == 1 {
		return 1
	}
	i := 1
	for i < len(all)-1 && interferer > all[i].interferer {
		i++
	}
	low, high := all[i-1], all[i]
	if high.interferer <= low.interferer {
		return high.delay
	}
	return low.delay + (high.delay-low.delay)*float64((interferer-low.interferer)/(high.interferer-low.interferer))
}

// balance finds the state on the machine from in which an application with the given
// own traffic c runs as it would alone on a machine whose memory carries ratio times as
// much. Beside others that transfer a there, all traffic is c/d + a, where d is the
// delay. On the other machine the same condition has ratio times that, of which c/d is
// still the application's, so that the others transfer
//
//	ratio·a − (1 − ratio)·c/d
//
// which is zero where the application is alone. With a ratio above 1 that is a
// negative a, for which the curve's first segment is continued: the application
// is faster there, by the ratio at the most.
func balance(all []state, own, ratio units.Bandwidth) state {
	others := func(a units.Bandwidth) units.Bandwidth {
		return ratio*a - (1-ratio)*own/units.Bandwidth(boundedDelay(all, a, ratio))
	}
	low, high := -own, own
	if ratio < 1 {
		low, high = 0, own*(1-ratio)/ratio
	}
	const halvings = 60
	_, high = stats.Bisect(low, high, halvings, func(a units.Bandwidth) bool { return others(a) < 0 })
	return state{high, boundedDelay(all, high, ratio)}
}

// boundedDelay is delayAt, but no lower than ratio times the bandwidth allows.
func boundedDelay(all []state, interferer, ratio units.Bandwidth) float64 {
	return max(delayAt(all, interferer), 1/math.Max(float64(ratio), 1))
}

// ratioAt returns how many times as much the memory of to carries at a read share.
func (c *conversion) ratioAt(share float64, pattern string) (units.Bandwidth, bool) {
	there, knownThere := sustained(c.from, share, pattern)
	here, knownHere := sustained(c.to, share, pattern)
	switch {
	case !knownThere || !knownHere:
		return 0, false
	case c.ratio > 0:
		return c.ratio, true
	}
	return here / there, true
}

// own returns the traffic of the application alone as a target, as which its curves were
// measured.
func (c *conversion) own() units.Traffic {
	if d := c.app.Spec.Distance; d != nil {
		return units.Traffic{Read: units.Bandwidth(d.TargetReadBytesPerSecond), Write: units.Bandwidth(d.TargetWriteBytesPerSecond)}
	}
	t := c.app.Spec.Contentiousness
	return units.Traffic{Read: units.Bandwidth(t.ReadBytesPerSecond), Write: units.Bandwidth(t.WriteBytesPerSecond)}
}

// speedAlone returns the speed of the application alone on to. It is read from the
// curve whose read share is nearest to its own: there, less capacity acts like
// neighbors with the application's own mix of reads and writes.
func (c *conversion) speedAlone() units.NormalizedPerformance {
	own := c.own()
	share, known := own.ReadShare()
	if !known {
		return 1
	}
	var best *v1alpha1.SensitivityCurve
	for i := range c.app.Spec.Curves {
		candidate := &c.app.Spec.Curves[i]
		if _, usable := c.ratioAt(candidate.ReadShare, patternOf(candidate.Pattern)); !usable {
			continue
		}
		if best == nil || math.Abs(candidate.ReadShare-float64(share)) < math.Abs(best.ReadShare-float64(share)) {
			best = candidate
		}
	}
	if best == nil {
		return 1
	}
	ratio, _ := c.ratioAt(best.ReadShare, patternOf(best.Pattern))
	return units.NormalizedPerformance(1 / balance(states(best.Points), own.Total(), ratio).delay)
}

// curves converts every curve at whose read share both machines were measured.
func (c *conversion) curves() ([]v1alpha1.SensitivityCurve, error) {
	var transferred []v1alpha1.SensitivityCurve
	var left []string
	for _, curve := range c.app.Spec.Curves {
		if k, ok := c.curve(curve); ok {
			transferred = append(transferred, k)
			continue
		}
		left = append(left, units.ReadShare(curve.ReadShare).String())
	}
	if len(transferred) == 0 {
		return nil, fmt.Errorf("%w: of its curves at %v reads none can be transferred: measure both machines at these read shares with: bandmate machine, or onboard it there",
			ErrIncomparable, left)
	}
	if len(left) > 0 {
		c.warn("its curves at %v reads are left out: the machines have no sustained bandwidth there in common, or too little", left)
	}
	return transferred, nil
}

// distinct is the least relative distance of two points of a curve.
const distinct = 1e-6

// curve converts one curve; false where no point of it remains.
func (c *conversion) curve(curve v1alpha1.SensitivityCurve) (v1alpha1.SensitivityCurve, bool) {
	pattern := patternOf(curve.Pattern)
	ratio, known := c.ratioAt(curve.ReadShare, pattern)
	if !known {
		return curve, false
	}
	top, _ := sustained(c.to, curve.ReadShare, pattern)
	own := c.own().Total()
	all := states(curve.Points)
	alone := balance(all, own, ratio)
	transferred := curve
	transferred.Points = nil
	for _, p := range curve.Points {
		a := units.Bandwidth(achieved(p))
		others := ratio*a - (1-ratio)*own*units.Bandwidth(p.NormalizedPerformance)
		if others < v1alpha1.MinBytesPerSecond || a <= alone.interferer {
			continue // no more pressure than being alone there
		}
		solo := others * units.Bandwidth(p.InterfererBytesPerSecond) / a
		if p.Level = float64(solo / top); p.Level > v1alpha1.MaxLevel || solo > v1alpha1.MaxBytesPerSecond {
			continue // more than any group of neighbors there can cause
		}
		p.InterfererBytesPerSecond = float64(solo)
		if p.AchievedBytesPerSecond != nil {
			still := float64(others)
			p.AchievedBytesPerSecond = &still
		}
		p.NormalizedPerformance = min(p.NormalizedPerformance*alone.delay, v1alpha1.MaxNormalizedPerformance)
		transferred.Points = append(transferred.Points, p)
	}
	slices.SortStableFunc(transferred.Points, func(a, b v1alpha1.CurvePoint) int {
		return cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond)
	})
	transferred.Points = slices.CompactFunc(transferred.Points, func(a, b v1alpha1.CurvePoint) bool {
		return math.Abs(a.InterfererBytesPerSecond-b.InterfererBytesPerSecond) <= b.InterfererBytesPerSecond*distinct
	})
	return transferred, len(transferred.Points) > 0
}
