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
	pairIterations = 8 // before a pair is settled by settlePair
	leastDamping   = 1.0 / 16
	shrinks        = 0.9 // a step that is not this much shorter halves the damping
)

// equilibrium is the state of applications that share a memory domain, the
// target first: each runs at the speed its responses give beside what the
// others then transfer.
type equilibrium struct {
	apps []*Application
	// targetFirst is true where the first application stands as the target,
	// where its curves were measured, and not as a co-runner.
	targetFirst bool
	phases      []*phase // the one each application is in
	capacity    units.Bandwidth
	performance []units.NormalizedPerformance
	settled     bool
	iterations  []Iteration // when recorded

	// means and combination are scratch of settlePhases.
	means       []phaseMeans
	combination []int
	pair        *equilibrium // scratch of compoundPairs
	twoOf       [2]*Application
	compounded  []units.NormalizedPerformance
}

// reset makes e the undisturbed state of apps; what it allocated before serves
// again.
func (e *equilibrium) reset(apps []*Application, targetFirst bool) {
	n := len(apps)
	e.apps, e.targetFirst = apps, targetFirst
	e.capacity = capacityOf(apps)
	e.phases = slices.Grow(e.phases[:0], n)[:n]
	e.performance = slices.Grow(e.performance[:0], n)[:n]
	e.means = slices.Grow(e.means[:0], n)[:n]
	e.combination = slices.Grow(e.combination[:0], n)[:n]
	e.settled, e.iterations, e.compounded = false, nil, e.compounded[:0]
	for i := range apps {
		e.phases[i], e.performance[i] = &steady[0], 1
	}
}

// settle finds the equilibrium from the performance there is by damped iteration,
//
//	p ← p + ω·(F(p) − p)
//
// one application after the other, where F gives each one's performance beside
// the others' traffic at p.
// ω starts at 1 and is halved whenever a step did not shrink. Every p stays
// within the bounds of the curves, because it is a mean of values of F.
//
// For two applications F is continuous and falls: where a few steps have not
// settled them, settlePair does for certain. For more, e.settled stays false
// when the steps have not sufficed.
func (e *equilibrium) settle(record bool) {
	e.record(record)
	damping, lastChange := 1.0, math.Inf(1)
	e.settled = false
	iterations := maxIterations
	if len(e.apps) == 2 {
		iterations = pairIterations
	}
	for range iterations {
		var change float64
		for i := range e.apps {
			step := e.respond(i) - e.performance[i]
			change = max(change, math.Abs(float64(step)))
			e.performance[i] += units.NormalizedPerformance(damping) * step
		}
		if change > lastChange*shrinks {
			damping = max(damping/2, leastDamping)
		}
		lastChange = change
		e.record(record)
		if change < settled {
			e.settled = true
			return
		}
	}
	if len(e.apps) == 2 {
		e.settlePair()
		e.record(record)
	}
}

// settlePair settles two applications for certain: with F_0 and F_1 the answers
// to the other's performance, F_0(F_1(x)) − x changes its sign between 0 and 1.
func (e *equilibrium) settlePair() {
	e.performance[0] = fixedPoint(func(x units.NormalizedPerformance) units.NormalizedPerformance {
		e.performance[0] = x
		e.performance[1] = e.respond(1)
		return e.respond(0)
	}, 0, 1)
	e.performance[1] = e.respond(1)
	e.settled = true
}

func (e *equilibrium) record(wanted bool) {
	if wanted {
		e.iterations = append(e.iterations, Iteration{slices.Clone(e.performance)})
	}
}

// atHome reports whether application i stands where its curves were measured.
func (e *equilibrium) atHome(i int) bool { return i == 0 && e.targetFirst }

// respond returns the performance of application i beside the others, in the
// phase it is in. One without curves is taken to be undisturbed.
func (e *equilibrium) respond(i int) units.NormalizedPerformance {
	a := e.apps[i]
	if a.family == nil {
		return 1
	}
	others := e.traffic(i)
	if !e.atHome(i) && a.slowerAway != 1 && a.achievedKnown {
		return e.respondAway(i, others)
	}
	return e.respondTo(i, others)
}

// respondTo returns the performance of application i in its phase beside
// traffic of others where its curves were measured.
func (e *equilibrium) respondTo(i int, others units.Traffic) units.NormalizedPerformance {
	a := e.apps[i]
	return a.inPhase(a.respond(others, e.capacity).performance, e.phases[i])
}

// homeSteps halve the traffic that respondAway looks for.
const homeSteps = 24

// respondAway returns the performance that co-runner i would have where its
// curves were measured, beside so much traffic that the memory carries the same
// in all as it does with the co-runner where it stands. A co-runner that is slow
// by distance asks for less than it would at home, so the memory is less busy
// than its curves take it to be. With h the traffic at home, c the traffic as a
// co-runner and P the curves, others are replaced by the x that conserves
//
//	x + h·P(x) = others + c·away(P(x))
//
// The left side less the right one rises with x, so that bisection finds it.
func (e *equilibrium) respondAway(i int, others units.Traffic) units.NormalizedPerformance {
	a, in := e.apps[i], e.phases[i]
	home, here := in.of(a.target).Total(), in.of(a.corunner).Total()
	low, high := 0.0, 1.0 // part of others
	if others.Total() == 0 {
		return 1
	}
	for range homeSteps {
		part := (low + high) / 2
		x := others.Scale(part)
		p := e.respondTo(i, x)
		excess := x.Total() + home*units.Bandwidth(p) - others.Total() - here*units.Bandwidth(a.away(p))
		if excess < 0 {
			low = part
		} else {
			high = part
		}
	}
	return e.respondTo(i, others.Scale(high))
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
		if e.atHome(j) {
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
