package predictor

import (
	"fmt"
	"math"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// describe fills in a prediction of the default method by the model of the memory
// that the applications, target first, are calibrated to.
func (p *Prediction) describe(apps []*Application, model *memory.Model, o Options) {
	var c company
	c.reset(apps, model, true)
	if !o.Together || !c.runTogether() {
		c.meet()
	}
	target := apps[0]
	p.set(c.performance[0])
	p.Basis = MemoryModel
	p.warn(target.warnings...)
	for i, other := range apps[1:] {
		if reason := unpredictable(other, target); reason != "" {
			p.warn(reason)
			continue
		}
		p.CorunnerSlowdowns[other.name] = c.performance[i+1].Slowdown()
	}
	others := c.others(0)
	read := target.respond(others, capacityOf(apps))
	p.warnDescribed(&c, others, read)
	p.Interval = c.doubt(others).interval(p.NormalizedPerformance)
	if o.Explain {
		p.Explanation = c.explain(others, read)
	}
}

// warnDescribed says what may be doubted about a prediction by the model.
func (p *Prediction) warnDescribed(c *company, others units.Traffic, read outcome) {
	target := c.apps[0]
	for _, other := range c.apps[1:] {
		if other.family == nil {
			p.warn(fmt.Sprintf("%s has no sensitivity curves: it is taken as undisturbed", other.name))
		}
	}
	if share, known := others.ReadShare(); known && read.bracket.Held {
		measured, _ := target.family.Member(read.bracket.Lower)
		p.warn(fmt.Sprintf("%s: read share of %v lies outside the measured ones: the curve at %v is used", target.name, share, measured))
	}
	if read.beyond > 0 {
		p.Extrapolated = read.beyond
		p.warn(target.beyondWarning(others, read))
	}
}

// beyondWarning says what pressure would have had to be measured, and with how
// many interferers.
func (a *Application) beyondWarning(others units.Traffic, read outcome) string {
	measured := others.Total() - read.beyond
	warning := fmt.Sprintf("%s: pressure is %v above the highest measured: extrapolated", a.name, read.beyond)
	if measured <= 0 {
		return warning
	}
	level := float64(others.Total() / measured)
	return warning + fmt.Sprintf("; to measure it, onboard with pressure up to %.1f times as high (%d interferers)",
		level, int(math.Ceil(level)))
}

// explain shows the target's curves at the traffic of the others, and the model.
func (c *company) explain(others units.Traffic, read outcome) *Explanation {
	a := c.apps[0]
	result := answer{performance: read.measured}
	add := func(i int, weight float64) {
		if weight == 0 {
			return
		}
		r := a.responses[i]
		b := r.level(others.Total())
		reading := newReading(r.share, r.performance, weight, b, r.performance.At(b))
		reading.ActualBytesPerSecond = others.Total()
		result.readings = append(result.readings, reading)
	}
	share, known := others.ReadShare()
	if known {
		add(read.bracket.Lower, 1-read.bracket.Scale)
		add(read.bracket.Upper, read.bracket.Scale)
	}
	x := result.explain(others)
	own := a.target.Total() * units.Bandwidth(c.rates[0])
	x.Equation += fmt.Sprintf("; model of the memory: %v of %v carried, P = %.4f; corrected by the curves: %.4f",
		own+others.Total(), units.Bandwidth(c.model.Capacity(share)), c.rates[0], c.performance[0])
	return x
}

// Errors of the model, as standard deviations, set on the simulated pairs and groups
// and held to account by TestIntervalCoverage.
const (
	// describedTraffic is of the traffic that the model says, relative.
	describedTraffic = 0.02
	// describedDepth is per unit of lost performance beside one co-runner,
	// describedGroup beside more: no single interferer measured them.
	describedDepth = 0.055
	describedGroup = 0.09
	// describedBeyond is per unit of performance lost beyond the most that the
	// target was seen to lose.
	describedBeyond = 0.4
	// describedPoints is with how many points a loop is known as well as the model
	// allows: fewer leave more doubt.
	describedPoints = 4
)

// doubt returns the doubt in the performance of the target.
func (c *company) doubt(others units.Traffic) doubt {
	target := c.apps[0]
	p := c.performance[0]
	capacity := capacityOf(c.apps)
	d := newDoubt(target, c.apps[1:], others, p, 0, describedTraffic,
		func(t units.Traffic) units.NormalizedPerformance { return target.respond(t, capacity).measured })
	points := 0
	for i := range target.responses {
		points += len(target.responses[i].points)
	}
	few := math.Sqrt(describedPoints / float64(max(points, 1)))
	d.fit = target.calibrated.residual * min(few, 1)
	depth := describedDepth
	if len(c.apps) > 2 {
		depth = describedGroup
	}
	d.model = math.Hypot(baseError, depth*math.Sqrt(1+few/2)*float64(1-p))
	d.extrapolation = describedBeyond * float64(max(target.mostLost()-p, 0))
	return d
}

// mostLost returns the lowest performance that was measured.
func (a *Application) mostLost() units.NormalizedPerformance {
	lowest := units.NormalizedPerformance(1)
	for i := range a.responses {
		_, high := a.responses[i].performance.Domain()
		lowest = min(lowest, a.responses[i].performance.At(high))
	}
	return lowest
}
