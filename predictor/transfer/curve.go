package transfer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// state is the application and the interferer beside each other on the machine
// where both were measured.
type state struct {
	// interferer is what the interferer transfers beside the application.
	interferer units.Bandwidth
	// delay is 1 ÷ normalized performance.
	delay float64
}

// states lists a curve's points, no pressure first, by rising interferer. More
// pressure is taken to delay no less.
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

// achieved is what the interferer reached beside the application, or alone
// where that was not recorded.
func achieved(p v1alpha1.CurvePoint) float64 {
	if p.AchievedBytesPerSecond != nil {
		return *p.AchievedBytesPerSecond
	}
	return p.InterfererBytesPerSecond
}

// delayAt joins the states by straight lines. Below no pressure the first
// segment goes on, above the highest the last one.
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

// balance finds the state on the machine from that looks, to an application of
// so much own traffic, like being alone on a machine that carries ratio times
// as much. Beside others that transfer a there, all traffic is c/d + a, where d
// is the delay; on the other machine the same condition has ratio times that,
// of which c/d is still the application's, so that the others transfer
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
	for range halvings {
		middle := (low + high) / 2
		if others(middle) < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return state{high, boundedDelay(all, high, ratio)}
}

// boundedDelay keeps what is continued to less than no pressure within what
// ratio times the bandwidth can give.
func boundedDelay(all []state, interferer, ratio units.Bandwidth) float64 {
	return max(delayAt(all, interferer), 1/math.Max(float64(ratio), 1))
}

// ratioAt is how much more the memory of to carries at a read share.
func (c *carrier) ratioAt(share float64, pattern string) (units.Bandwidth, bool) {
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

// own is the traffic of the application alone.
func (c *carrier) own() units.Traffic {
	t := c.app.Spec.Contentiousness
	return units.Traffic{Read: units.Bandwidth(t.ReadBytesPerSecond), Write: units.Bandwidth(t.WriteBytesPerSecond)}
}

// speedAlone reads how fast the application is alone on to from the curve whose
// read share is nearest to its own, as the others it has less or more room for
// are like itself.
func (c *carrier) speedAlone() units.NormalizedPerformance {
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

// curves carries every curve that both machines know the read share of.
func (c *carrier) curves() ([]v1alpha1.SensitivityCurve, error) {
	var carried []v1alpha1.SensitivityCurve
	var left []string
	for _, curve := range c.app.Spec.Curves {
		if k, ok := c.curve(curve); ok {
			carried = append(carried, k)
			continue
		}
		left = append(left, units.ReadShare(curve.ReadShare).String())
	}
	if len(carried) == 0 {
		return nil, fmt.Errorf("%w: of its curves at %v reads none can be carried: measure both machines at these read shares with: bandmate machine, or onboard it there",
			ErrIncomparable, left)
	}
	if len(left) > 0 {
		c.warn("its curves at %v reads are left out: the machines have no sustained bandwidth there in common, or too little", left)
	}
	return carried, nil
}

// distinct is how far apart two points of a curve are at least, relative.
const distinct = 1e-6

// curve carries one curve; false where nothing of it can be.
func (c *carrier) curve(curve v1alpha1.SensitivityCurve) (v1alpha1.SensitivityCurve, bool) {
	pattern := patternOf(curve.Pattern)
	ratio, known := c.ratioAt(curve.ReadShare, pattern)
	if !known {
		return curve, false
	}
	top, _ := sustained(c.to, curve.ReadShare, pattern)
	own := c.own().Total()
	all := states(curve.Points)
	alone := balance(all, own, ratio)
	carried := curve
	carried.Points = nil
	for _, p := range curve.Points {
		a := units.Bandwidth(achieved(p))
		others := ratio*a - (1-ratio)*own*units.Bandwidth(p.NormalizedPerformance)
		if others < v1alpha1.MinBytesPerSecond || a <= alone.interferer {
			continue // less pressure than the application has on itself there
		}
		solo := others * units.Bandwidth(p.InterfererBytesPerSecond) / a
		if p.Level = float64(solo / top); p.Level > v1alpha1.MaxLevel || solo > v1alpha1.MaxBytesPerSecond {
			continue // more than any group of neighbors there causes
		}
		p.InterfererBytesPerSecond = float64(solo)
		if p.AchievedBytesPerSecond != nil {
			still := float64(others)
			p.AchievedBytesPerSecond = &still
		}
		p.NormalizedPerformance = min(p.NormalizedPerformance*alone.delay, v1alpha1.MaxNormalizedPerformance)
		carried.Points = append(carried.Points, p)
	}
	slices.SortStableFunc(carried.Points, func(a, b v1alpha1.CurvePoint) int {
		return cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond)
	})
	carried.Points = slices.CompactFunc(carried.Points, func(a, b v1alpha1.CurvePoint) bool {
		return math.Abs(a.InterfererBytesPerSecond-b.InterfererBytesPerSecond) <= b.InterfererBytesPerSecond*distinct
	})
	return carried, len(carried.Points) > 0
}
