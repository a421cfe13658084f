package predictor

import (
	"math"
	"slices"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// Bounds of the iteration towards the settled state.
const (
	settled        = 1e-5 // change of normalized performance that counts as none
	maxIterations  = 64
	leastDamping   = 1.0 / 16
	shrinks        = 0.9 // a step that is not this much shorter halves the damping
	bisectionSteps = 40  // 2^-40 of the range of normalized performance
)

// equilibrium is the state of applications that share a memory domain, the
// target first: each runs at the speed its responses give beside what the
// others then transfer.
type equilibrium struct {
	apps        []*Application
	phases      []*phase // the one each application is in
	capacity    units.Bandwidth
	performance []units.NormalizedPerformance
	settled     bool
	iterations  []Iteration // when recorded
}

func newEquilibrium(apps []*Application) *equilibrium {
	e := &equilibrium{
		apps:        apps,
		phases:      make([]*phase, len(apps)),
		capacity:    capacityOf(apps),
		performance: make([]units.NormalizedPerformance, len(apps)),
	}
	for i := range apps {
		e.phases[i] = &steady[0]
	}
	return e
}

// settle finds the equilibrium from everyone undisturbed by damped iteration,
//
//	p ← p + ω·(F(p) − p)
//
// where F gives each application's performance beside the others' traffic at p.
// ω starts at 1 and is halved whenever a step did not shrink. Every p stays
// within the bounds of the curves, because it is a mean of values of F.
//
// For two applications F is continuous and falls in both arguments, so that
// F_A(F_B(x)) − x changes its sign between 0 and 1: where the iteration has not
// settled within its bound, bisection finds an equilibrium for certain. For
// more, e.settled then stays false.
func (e *equilibrium) settle(record bool) {
	for i := range e.performance {
		e.performance[i] = 1
	}
	e.record(record)
	next := make([]units.NormalizedPerformance, len(e.apps))
	damping, lastChange := 1.0, math.Inf(1)
	e.settled = false
	for range maxIterations {
		var change float64
		for i := range e.apps {
			next[i] = e.respond(i)
			change = max(change, math.Abs(float64(next[i]-e.performance[i])))
		}
		if change > lastChange*shrinks {
			damping = max(damping/2, leastDamping)
		}
		lastChange = change
		for i := range e.apps {
			e.performance[i] += units.NormalizedPerformance(damping) * (next[i] - e.performance[i])
		}
		e.record(record)
		if change < settled {
			e.settled = true
			return
		}
	}
	if len(e.apps) == 2 {
		e.bisect()
		e.record(record)
	}
}

// bisect settles two applications by the sign of F_0(F_1(x)) − x.
func (e *equilibrium) bisect() {
	low, high := units.NormalizedPerformance(0), units.NormalizedPerformance(1)
	for range bisectionSteps {
		middle := (low + high) / 2
		e.performance[0] = middle
		e.performance[1] = e.respond(1)
		if e.respond(0) > middle {
			low = middle
		} else {
			high = middle
		}
	}
	e.performance[0] = high
	e.performance[1] = e.respond(1)
	e.settled = true
}

func (e *equilibrium) record(wanted bool) {
	if wanted {
		e.iterations = append(e.iterations, Iteration{slices.Clone(e.performance)})
	}
}

// respond returns the performance of application i beside the others, in the
// phase it is in. One without curves is taken to be undisturbed.
func (e *equilibrium) respond(i int) units.NormalizedPerformance {
	a := e.apps[i]
	if a.family == nil {
		return 1
	}
	return a.inPhase(a.respond(e.traffic(i), e.capacity).performance, e.phases[i])
}

// traffic returns what the others transfer beside application i, or, where i's
// curves are known against solo bandwidth only, what they transfer alone.
func (e *equilibrium) traffic(i int) units.Traffic {
	var sum units.Traffic
	for j, other := range e.apps {
		if j == i {
			continue
		}
		mean, performance := other.corunner, e.performance[j]
		if j == 0 {
			mean = other.target
		} else {
			performance = other.away(performance)
		}
		if !e.apps[i].achievedKnown {
			performance = 1
		}
		sum = sum.Add(e.phases[j].of(mean).Scale(float64(performance)))
	}
	return sum
}

// away translates performance where the curves were measured into performance
// as a co-runner. The delay by distance (an interconnect's latency or
// bandwidth) and the delay by contention overlap in part: fully where the
// interconnect is what limits, hardly where latencies add up. They are added in
// quadrature, which lies between,
//
//	(time away)² = ratio² + (1/p)² − 1
//
// in units of the undisturbed time at home.
func (a *Application) away(p units.NormalizedPerformance) units.NormalizedPerformance {
	if a.slowerAway == 1 {
		return p
	}
	home := 1 / float64(p)
	square := a.slowerAway*a.slowerAway + max(home*home-1, 0)
	return units.NormalizedPerformance(a.slowerAway / math.Sqrt(square))
}

// inPhase translates performance averaged over a run into that of a phase:
// contention adds time per byte transferred.
func (a *Application) inPhase(p units.NormalizedPerformance, in *phase) units.NormalizedPerformance {
	if in.total == 1 {
		return p
	}
	return max(1/(1+(1/p-1)*units.NormalizedPerformance(in.total)), curves.Floor)
}
