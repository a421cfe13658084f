package predictor

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// The iteration towards the settled state. Every bound is a number of steps:
// the time is bounded whatever the curves.
const (
	settled       = 1e-5 // change of normalized performance that counts as none
	maxIterations = 64
)

// equilibrium is the state of applications that share a memory domain, the
// target first: each runs at the speed its responses give beside what the
// others then transfer.
type equilibrium struct {
	apps        []*Application
	performance []units.NormalizedPerformance
	settled     bool
	iterations  []Iteration // when recorded
}

// settle finds the equilibrium by damped iteration from everyone undisturbed:
//
//	p ← p + ω·(F(p) − p)
//
// where F gives each application's performance beside the others' traffic at p.
// ω starts at 1 and is halved whenever a step did not shrink.
func settle(apps []*Application, record bool) equilibrium {
	e := equilibrium{apps: apps, performance: make([]units.NormalizedPerformance, len(apps))}
	next := make([]units.NormalizedPerformance, len(apps))
	for i := range e.performance {
		e.performance[i] = 1
	}
	if record {
		e.record()
	}
	damping, lastChange := 1.0, math.Inf(1)
	for range maxIterations {
		var change float64
		for i := range apps {
			next[i] = e.respond(i)
			change = max(change, math.Abs(float64(next[i]-e.performance[i])))
		}
		if change > lastChange*0.9 {
			damping = max(damping/2, 1.0/16)
		}
		lastChange = change
		for i := range apps {
			e.performance[i] += units.NormalizedPerformance(damping) * (next[i] - e.performance[i])
		}
		if record {
			e.record()
		}
		if change < settled {
			e.settled = true
			break
		}
	}
	return e
}

func (e *equilibrium) record() {
	e.iterations = append(e.iterations, Iteration{slices.Clone(e.performance)})
}

// respond returns the performance of application i beside the others.
func (e *equilibrium) respond(i int) units.NormalizedPerformance {
	a := e.apps[i]
	if len(a.responses) == 0 {
		return 1
	}
	return a.respond(e.traffic(i)).performance
}

// traffic returns what the others transfer beside application i.
func (e *equilibrium) traffic(i int) units.Traffic {
	var sum units.Traffic
	for j, other := range e.apps {
		if j == i {
			continue
		}
		if j == 0 {
			sum = sum.Add(other.target.Scale(float64(e.performance[j])))
			continue
		}
		sum = sum.Add(other.corunner.Scale(float64(other.away(e.performance[j]))))
	}
	return sum
}

// away translates performance where the curves were measured into performance
// as a co-runner: contention adds as much time per unit of work there.
func (a *Application) away(p units.NormalizedPerformance) units.NormalizedPerformance {
	if a.slowerAway == 1 {
		return p
	}
	ratio := units.NormalizedPerformance(a.slowerAway)
	return ratio / (ratio + 1/p - 1)
}

// outcome is a response to traffic, and where it was read.
type outcome struct {
	performance  units.NormalizedPerformance
	bracket      curves.Bracket
	lower, upper units.Bandwidth // where the curves were read
	beyond       units.Bandwidth // traffic beyond the measured pressure
}

// respond reads the responses at the traffic that the others really transfer.
func (a *Application) respond(traffic units.Traffic) outcome {
	share, known := traffic.ReadShare()
	if !known {
		return outcome{performance: 1}
	}
	o := outcome{bracket: a.family.Bracket(share)}
	low, x, b := a.responses[o.bracket.Lower].at(traffic.Total())
	o.lower, o.beyond, o.performance = x, b, low
	if o.bracket.Upper != o.bracket.Lower {
		high, x, b := a.responses[o.bracket.Upper].at(traffic.Total())
		o.upper, o.beyond = x, min(o.beyond, b)
		o.performance = o.bracket.Mix(low, high)
	}
	return o
}

// at returns the performance beside an interferer that achieves the actual
// bandwidth, and where on the solo axis that is.
func (r *response) at(actual units.Bandwidth) (p units.NormalizedPerformance, solo, beyond units.Bandwidth) {
	if r.achievedKnown {
		solo, beyond = r.level(actual)
	} else {
		solo = actual
	}
	return r.performance.At(solo), solo, beyond
}

func predictEquilibrium(target *Application, corunners []*Application, o Options) (Prediction, error) {
	apps := append([]*Application{target}, corunners...)
	e := settle(apps, o.Explain)
	p := newPrediction(target, corunners, o.Method)
	p.set(e.performance[0])
	p.warn(target.warnings...)
	if !e.settled {
		p.warn(fmt.Sprintf("no settled state after %d steps", maxIterations))
	}
	p.Interval = p.interval(doubt{})
	for i, c := range corunners {
		if reason := unpredictable(c, target); reason != "" {
			p.warn(reason)
			continue
		}
		p.CorunnerSlowdowns[c.name] = c.away(e.performance[i+1]).Slowdown()
	}
	if o.Explain {
		p.Explanation = e.explain()
	}
	return p, nil
}

func (e *equilibrium) explain() *Explanation {
	a, traffic := e.apps[0], e.traffic(0)
	o := a.respond(traffic)
	result := answer{performance: o.performance}
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
		add(o.bracket.Lower, o.lower, 1-o.bracket.Scale)
		add(o.bracket.Upper, o.upper, o.bracket.Scale)
	}
	x := result.explain(traffic)
	x.Iterations = e.iterations
	return x
}
