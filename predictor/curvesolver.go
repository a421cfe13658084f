package predictor

import (
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Bounds of the iteration toward the fixed point.
const (
	converged      = 1e-5 // change of normalized performance that counts as none
	maxIterations  = 64
	pairIterations = 8 // before solvePair takes over
	leastDamping   = 1.0 / 16
	shrinks        = 0.9 // a step that is not this much shorter halves the damping
)

// curveSolver finds the fixed point of a group: the performance of each application is
// that of its curves beside the traffic of the others.
type curveSolver struct {
	group
	phases     []*phase // that each application is in
	capacity   units.Bandwidth
	solved     bool
	allSolved  bool        // of all combinations of phases
	iterations []Iteration // when recorded

	// furthest is where the target's curves are read furthest beyond the highest measured
	// pressure, at mean traffic or in a combination of phases, and extrapolated what the
	// target loses beyond it, in the mean over its time alone.
	furthest     outcome
	extrapolated float64

	// here is scratch of solvePhases, the rest of compoundPairs.
	here       []units.NormalizedPerformance
	pair       *curveSolver
	twoOf      [2]*Application
	compounded []units.NormalizedPerformance
	byTraffic  []int // places of the applications with traffic
	ranks      []int // of each application among those
}

// reset makes s the undisturbed state of apps. What it allocated serves again.
func (s *curveSolver) reset(apps []*Application, targetFirst bool) {
	s.group.reset(apps, targetFirst)
	s.capacity = capacityOf(apps)
	s.phases = resized(s.phases, len(apps))
	s.solved, s.iterations, s.compounded = false, nil, s.compounded[:0]
	for i := range apps {
		s.phases[i] = &steady[0]
	}
}

// solve finds the fixed point from the present performance by damped iteration,
//
//	p ← p + ω·(F(p) − p)
//
// one application after the other, where F is each one's performance beside the
// others' traffic at p. ω starts at 1 and is halved whenever a step did not shrink. Every p stays
// within the bounds of the curves, because it is a mean of values of F.
//
// For two applications F is continuous and falls: solvePair finds the fixed point
// where a few steps do not suffice. For more, s.solved stays false where the steps
// do not suffice.
func (s *curveSolver) solve(record bool) {
	s.record(record)
	damping, lastChange := 1.0, math.Inf(1)
	s.solved = false
	iterations := maxIterations
	if len(s.apps) == 2 {
		iterations = pairIterations
	}
	for range iterations {
		var change float64
		for i := range s.apps {
			step := s.respond(i) - s.performance[i]
			change = max(change, math.Abs(float64(step)))
			s.performance[i] += units.NormalizedPerformance(damping) * step
		}
		if change > lastChange*shrinks {
			damping = max(damping/2, leastDamping)
		}
		lastChange = change
		s.record(record)
		if change < converged {
			s.solved = true
			return
		}
	}
	if len(s.apps) == 2 {
		s.solvePair()
		s.record(record)
	}
}

// solvePair finds the fixed point of two applications: with F_0 and F_1 the response
// of each to the other's performance, F_0(F_1(x)) − x changes its sign between 0
// and 1.
func (s *curveSolver) solvePair() {
	s.performance[0] = fixedPoint(func(x units.NormalizedPerformance) units.NormalizedPerformance {
		s.performance[0] = x
		s.performance[1] = s.respond(1)
		return s.respond(0)
	}, 0, 1)
	s.performance[1] = s.respond(1)
	s.solved = true
}

func (s *curveSolver) record(wanted bool) {
	if wanted {
		s.iterations = append(s.iterations, Iteration{slices.Clone(s.performance)})
	}
}

// respond returns the performance of application i beside the others, in the
// phase it is in. One without curves is taken to be undisturbed.
func (s *curveSolver) respond(i int) units.NormalizedPerformance {
	a := s.apps[i]
	if a.family == nil {
		return 1
	}
	others := s.traffic(i)
	if !s.atHome(i) && a.slowerAway != 1 && a.achievedKnown {
		return s.respondAway(i, others)
	}
	return s.respondTo(i, others)
}

// respondTo returns the performance of application i in its phase beside
// traffic of others where its curves were measured.
func (s *curveSolver) respondTo(i int, others units.Traffic) units.NormalizedPerformance {
	a := s.apps[i]
	return a.inPhase(a.respond(others, s.capacity).performance, s.phases[i])
}

// homeSteps halve the traffic that respondAway looks for.
const homeSteps = 24

// respondAway returns the performance that co-runner i would have where its curves were
// measured, beside so much traffic x that the memory carries the same total. A distant
// co-runner causes less traffic than its curves assume. With h its traffic as a target, c
// its traffic as a co-runner and P the curves, x conserves
//
//	x + h·P(x) = others + c·away(P(x))
//
// The left side less the right one rises with x, so that bisection finds it.
func (s *curveSolver) respondAway(i int, others units.Traffic) units.NormalizedPerformance {
	a, in := s.apps[i], s.phases[i]
	home, here := in.of(a.target).Total(), in.of(a.corunner).Total()
	if others.Total() == 0 {
		return 1
	}
	_, part := stats.Bisect(0, 1, homeSteps, func(part float64) bool {
		x := others.Scale(part)
		p := s.respondTo(i, x)
		return x.Total()+home*units.Bandwidth(p)-others.Total()-here*units.Bandwidth(a.away(p)) < 0
	})
	return s.respondTo(i, others.Scale(part))
}

// traffic returns what the others transfer beside application i, or, where i's
// curves are known against solo bandwidth only, what they transfer alone.
func (s *curveSolver) traffic(i int) units.Traffic {
	var sum units.Traffic
	for j, other := range s.apps {
		if j == i {
			continue
		}
		mean, performance := other.corunner, s.performance[j]
		if s.atHome(j) {
			mean = other.target
		} else {
			performance = other.away(performance)
		}
		if !s.apps[i].achievedKnown {
			performance = 1
		}
		sum = sum.Add(s.phases[j].of(mean).Scale(float64(performance)))
	}
	return sum
}
