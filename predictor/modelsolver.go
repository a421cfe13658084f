package predictor

import (
	"math"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/cache"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// modelSolver solves for applications that share a memory with a fitted model.
type modelSolver struct {
	group
	model   *memory.Model
	members []memory.Member
	// known are the performances in every combination of phases; NaN where a
	// combination is not solved yet.
	known []units.NormalizedPerformance
	// unsolved is true where no solution was found in a combination of phases. Members
	// who ask for more than the memory can carry have one: the greatest delay.
	unsolved bool

	// sharing and shares are the applications in caches that they share, and what each
	// has of them; empty without one.
	lastLevel *cache.Model
	caches    int
	sharing   []cache.Member
	shares    []cache.Result
	solver    cache.Solver
	// placeable are the applications whose cache matters, by name. placed and placement are
	// the cache of each of these in one placement, and how each application fares in it.
	placeable       []int
	placed          []int
	placement       []cache.Result
	placementSpread float64
	// inWorld is how each fares in one world of solveShared, byWorld the target's performance
	// in each.
	inWorld []cache.Result
	byWorld [len(worldSizes)]float64
	// allowed are the caches of each that is placeable where some are known, distinct the
	// placements in them that differ in who is with whom.
	allowed  []Caches
	distinct []weighted
}

// mostTogether bounds how many combinations of phases are solved: four applications
// of three phases. Beyond, those with the least traffic are taken at their mean.
const mostTogether = maxPhases * maxPhases * maxPhases * maxPhases

// reset makes s the undisturbed state of apps. What it allocated serves again.
func (s *modelSolver) reset(apps []*Application, model *memory.Model, targetFirst bool) {
	s.group.reset(apps, targetFirst)
	s.model, s.unsolved, s.shares = model, false, s.shares[:0]
	if s.sharesCache() {
		return
	}
	s.members = resized(s.members, len(apps))
	s.known = resized(s.known, len(apps)*s.choosePhases())
	for i := range s.known {
		s.known[i] = units.NormalizedPerformance(math.NaN())
	}
}

// choosePhases takes the phases of the target, then of the co-runners with most
// traffic, until there are mostTogether combinations. It returns how many there are.
func (s *modelSolver) choosePhases() int {
	for i := range s.apps {
		s.averaged[i] = len(s.apps[i].phases) > 1
	}
	combinations := 1
	for next := 0; next >= 0 && combinations*len(s.apps[next].phases) <= mostTogether; next = s.heaviestAveraged() {
		combinations *= len(s.apps[next].phases)
		s.averaged[next] = false
	}
	return combinations
}

// heaviestAveraged returns the averaged co-runner with most traffic, or −1.
func (s *modelSolver) heaviestAveraged() int {
	heaviest := -1
	for i, averaged := range s.averaged {
		if averaged && (heaviest < 0 || s.apps[i].corunner.Total() > s.apps[heaviest].corunner.Total()) {
			heaviest = i
		}
	}
	return heaviest
}

// solve sets the performances to their means when phases meet at random.
func (s *modelSolver) solve() {
	if s.sharesCache() {
		s.solveShared()
		return
	}
	s.averageOverPhases(s)
	s.correct()
}

// solvePhases implements phaseSolver.
func (s *modelSolver) solvePhases() (home, here []units.NormalizedPerformance) {
	place := 0
	for i, a := range s.apps {
		if !s.averaged[i] {
			place = place*len(a.phases) + s.combination[i]
		}
	}
	n := len(s.apps)
	solution := s.known[place*n : (place+1)*n]
	if !math.IsNaN(float64(solution[0])) {
		return solution, solution
	}
	for i, a := range s.apps {
		phase := s.combination[i]
		if s.averaged[i] {
			phase = -1
		}
		s.members[i] = a.memberIn(s.model, phase, s.atHome(i))
	}
	if _, excess := s.model.Solve(s.members, solution); excess < 0 && !memory.Close(excess) {
		s.unsolved = true
	}
	return solution, solution
}

// timeShare implements phaseSolver.
func (s *modelSolver) timeShare(app, phase int) float64 {
	return s.apps[app].timeShare(phase, s.atHome(app))
}

// correct turns rates into performances, corrected by what was measured.
func (s *modelSolver) correct() {
	for i, a := range s.apps {
		p := s.held(i, a.corrected(s.rates[i], s.traffic(i)))
		s.performance[i] = min(max(p, curves.Floor), 1)
	}
}

// traffic returns what the others transfer beside application i.
func (s *modelSolver) traffic(i int) units.Traffic {
	if len(s.shares) > 0 {
		return s.sharedTraffic(i)
	}
	var sum units.Traffic
	for j, a := range s.apps {
		if j == i {
			continue
		}
		alone := a.corunner
		if s.atHome(j) {
			alone = a.target
		}
		sum = sum.Add(alone.Scale(s.rates[j]))
	}
	return sum
}
