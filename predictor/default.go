package predictor

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/units"
)

// predictDefault predicts by the settled state of all applications: phase by
// phase for a pair, at mean traffic for a group, where the combinations of
// phases gain nothing on the simulated groups.
func predictDefault(target *Application, corunners []*Application, o Options) Prediction {
	apps := make([]*Application, 0, len(corunners)+1)
	apps = append(append(apps, target), corunners...)
	p := newPrediction(target, corunners, o.Method)

	e := newEquilibrium(apps)
	e.settle(o.Explain)
	mean := e.respondTarget()
	if len(apps) == 2 && len(target.phases)*len(corunners[0].phases) > 1 {
		e.settlePhases()
	}
	p.set(e.performance[0])
	p.warnDefault(e, mean)
	p.Interval = e.doubt(mean).interval(p.NormalizedPerformance)
	for i, c := range corunners {
		if reason := unpredictable(c, target); reason != "" {
			p.warn(reason)
			continue
		}
		p.CorunnerSlowdowns[c.name] = c.away(e.performance[i+1]).Slowdown()
	}
	if o.Explain {
		p.Explanation = e.explain(mean)
	}
	return p
}

// respondTarget returns where the target's curves are read in the settled state.
func (e *equilibrium) respondTarget() outcome {
	return e.apps[0].respond(e.traffic(0), e.capacity)
}

// settlePhases settles every combination of the phases of two applications and
// sets the performance of each to its mean over co-run time: the phase of one
// meets those of the other for as long as they then last.
func (e *equilibrium) settlePhases() {
	a, b := e.apps[0], e.apps[1]
	rates := make([][2]units.NormalizedPerformance, len(a.phases)*len(b.phases))
	allSettled := true
	for i := range a.phases {
		for j := range b.phases {
			e.phases[0], e.phases[1] = &a.phases[i], &b.phases[j]
			e.settle(false)
			allSettled = allSettled && e.settled
			rates[i*len(b.phases)+j] = [2]units.NormalizedPerformance(e.performance)
		}
	}
	e.settled = allSettled
	e.phases[0], e.phases[1] = &steady[0], &steady[0]
	e.performance[0] = corunMean(a.phases, b.phases, func(i, j int) (own, other units.NormalizedPerformance) {
		r := rates[i*len(b.phases)+j]
		return r[0], r[1]
	})
	e.performance[1] = corunMean(b.phases, a.phases, func(j, i int) (own, other units.NormalizedPerformance) {
		r := rates[i*len(b.phases)+j]
		return r[1], r[0]
	})
}

// corunMean returns solo time ÷ co-run time of an application with the phases
// own beside one with the phases others, of which at(i, j) gives the two
// performances in each combination.
func corunMean(own, others []phase, at func(i, j int) (own, other units.NormalizedPerformance)) units.NormalizedPerformance {
	var time float64 // of the co-run, in units of the solo run
	for i := range own {
		var progress, duration float64
		for j := range others {
			mine, theirs := at(i, j)
			lasts := others[j].timeShare / float64(theirs)
			progress += lasts * float64(mine)
			duration += lasts
		}
		time += own[i].timeShare * duration / progress
	}
	return units.NormalizedPerformance(1 / time)
}

// warnDefault says what may be doubted about a prediction of the default method.
func (p *Prediction) warnDefault(e *equilibrium, read outcome) {
	target, corunners := e.apps[0], e.apps[1:]
	p.warn(target.warnings...)
	if len(corunners) == 0 {
		return
	}
	if !target.achievedKnown {
		p.warn(target.soloPressureWarning())
	}
	if !target.trafficKnown {
		p.warn(fmt.Sprintf("contentiousness of %s is unknown: its co-runners are taken as undisturbed by it", target.name))
	}
	for _, c := range corunners {
		if c.family == nil {
			p.warn(fmt.Sprintf("%s has no sensitivity curves: it is taken as undisturbed", c.name))
		}
	}
	share, known := e.traffic(0).ReadShare()
	if known && read.bracket.Held {
		measured, _ := target.family.Member(read.bracket.Lower)
		p.warn(fmt.Sprintf("%s: read share of %v lies outside the measured ones: the curve at %v is used", target.name, share, measured))
	}
	if read.beyond > 0 {
		p.warn(fmt.Sprintf("%s: pressure is %v above the highest measured: extrapolated", target.name, read.beyond))
	}
	if !e.settled {
		p.warn(fmt.Sprintf("no settled state after %d steps: the last one is given", maxIterations))
	}
}

func (a *Application) soloPressureWarning() string {
	return fmt.Sprintf("%s: the interferer's achieved bandwidth was not recorded, so its curves are read at the co-runners' "+
		"solo bandwidth, which overstates their pressure; onboard it again", a.name)
}

// explain shows the target's curves in the state settled at mean traffic.
func (e *equilibrium) explain(read outcome) *Explanation {
	a, traffic := e.apps[0], e.traffic(0)
	result := answer{performance: read.measured}
	add := func(i int, b units.Bandwidth, weight float64) {
		if weight == 0 {
			return
		}
		r := a.responses[i]
		reading := newReading(r.share, r.performance, weight, b, r.performance.At(b))
		reading.ActualBytesPerSecond = traffic.Total()
		result.readings = append(result.readings, reading)
	}
	if traffic.Total() > 0 {
		add(read.bracket.Lower, read.lower, 1-read.bracket.Scale)
		add(read.bracket.Upper, read.upper, read.bracket.Scale)
	}
	x := result.explain(traffic)
	steps := []string{x.Equation}
	if read.beyond > 0 {
		steps = append(steps, fmt.Sprintf("extrapolated %v further: %.4f", read.beyond, read.performance))
	}
	if final := e.performance[0]; len(e.apps) == 2 && len(a.phases)*len(e.apps[1].phases) > 1 {
		steps = append(steps, fmt.Sprintf("mean over %d × %d phases: %.4f", len(a.phases), len(e.apps[1].phases), final))
	}
	x.Equation = strings.Join(steps, "; ")
	x.Iterations = slices.Clone(e.iterations)
	return x
}
