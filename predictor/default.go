package predictor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// predictDefault predicts by the settled state of all applications, phase by
// phase.
func predictDefault(target *Application, corunners []*Application, o Options) Prediction {
	p := newPrediction(target, corunners, o.Method)
	// Where steps have not sufficed, the state depends on the order of the
	// applications; in a fixed one, it does not depend on the caller's.
	corunners = slices.SortedStableFunc(slices.Values(corunners), byName)
	apps := make([]*Application, 0, len(corunners)+1)
	apps = append(append(apps, target), corunners...)

	if model := describedTogether(apps); model != nil && len(corunners) > 0 {
		p.describe(apps, model, o)
		return p
	}
	var e equilibrium
	e.reset(apps, true)
	mean := e.settleInPhases(o.Explain)
	p.Basis = Curves
	p.set(e.performance[0])
	p.warnDefault(&e, mean)
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

// byName orders applications by name, and those of one name by traffic.
func byName(a, b *Application) int {
	return cmp.Or(
		cmp.Compare(a.name, b.name),
		cmp.Compare(a.corunner.Read, b.corunner.Read),
		cmp.Compare(a.corunner.Write, b.corunner.Write),
	)
}

// respondTarget returns where the target's curves are read in the settled state.
func (e *equilibrium) respondTarget() outcome {
	return e.apps[0].respond(e.traffic(0), e.capacity)
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
		p.Extrapolated = read.beyond
		p.warn(target.beyondWarning(e.traffic(0), read))
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
	add := func(i int, weight float64) {
		if weight == 0 {
			return
		}
		r := a.responses[i]
		b := r.level(traffic.Total())
		reading := newReading(r.share, r.performance, weight, b, r.performance.At(b))
		reading.ActualBytesPerSecond = traffic.Total()
		result.readings = append(result.readings, reading)
	}
	if traffic.Total() > 0 {
		add(read.bracket.Lower, 1-read.bracket.Scale)
		add(read.bracket.Upper, read.bracket.Scale)
	}
	x := result.explain(traffic)
	steps := []string{x.Equation}
	if read.beyond > 0 {
		steps = append(steps, fmt.Sprintf("extrapolated %v further: %.4f", read.beyond, read.performance))
	}
	if n := e.combinations(); n > 1 {
		steps = append(steps, fmt.Sprintf("mean over %d combinations of phases: %.4f", n, e.performance[0]))
	}
	if len(e.compounded) == len(e.apps) && e.compounded[0] <= e.performance[0] {
		steps = append(steps, fmt.Sprintf("product over its pairs: %.4f", e.compounded[0]))
	}
	x.Equation = strings.Join(steps, "; ")
	x.Iterations = slices.Clone(e.iterations)
	return x
}
