package predictor

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// mostCombinations bounds the combinations of phases that are solved, to those of a pair.
// Larger groups of many phases are solved at mean traffic and corrected by their pairs.
const mostCombinations = maxPhases * maxPhases

// combinations returns how many combinations of phases are solved; 1 where mean
// traffic is used.
func (s *curveSolver) combinations() int {
	n := 1
	for _, a := range s.apps {
		if n *= len(a.phases); n > mostCombinations {
			return 1
		}
	}
	return n
}

// solveInPhases solves at mean traffic, then in every combination of phases, and
// holds a group to its pairs. It returns where the target's curves are read at mean
// traffic.
func (s *curveSolver) solveInPhases(record bool) outcome {
	s.solve(record)
	mean := s.apps[0].respond(s.traffic(0), s.capacity)
	s.furthest = mean
	s.extrapolated = float64(mean.measured - mean.performance)
	if s.combinations() > 1 {
		clear(s.averaged)
		s.here = resized(s.here, len(s.apps))
		s.allSolved, s.extrapolated = true, 0
		s.averageOverPhases(s)
		s.solved = s.allSolved
		for i, rate := range s.rates {
			s.averaged[i], s.phases[i] = true, &steady[0]
			s.performance[i] = min(max(units.NormalizedPerformance(rate), curves.Floor), 1)
		}
	}
	if len(s.apps) > 2 {
		s.compoundPairs()
	}
	return mean
}

// solvePhases implements phaseSolver. It starts from the last solution.
func (s *curveSolver) solvePhases() (home, here []units.NormalizedPerformance) {
	for i, a := range s.apps {
		s.phases[i] = &a.phases[s.combination[i]]
	}
	s.solve(false)
	s.allSolved = s.allSolved && s.solved
	share := 1.0
	for i, p := range s.performance {
		s.here[i] = s.hereOf(i, p)
		share *= s.phases[i].timeShare
	}
	read := s.apps[0].respond(s.traffic(0), s.capacity)
	s.extrapolated += share * float64(read.measured-read.performance)
	if read.beyond > s.furthest.beyond {
		s.furthest = read
	}
	return s.performance, s.here
}

// hereOf translates a performance of application i where its curves were measured
// into one in its role.
func (s *curveSolver) hereOf(i int, p units.NormalizedPerformance) units.NormalizedPerformance {
	if s.atHome(i) {
		return p
	}
	return s.apps[i].away(p)
}

// timeShare implements phaseSolver.
func (s *curveSolver) timeShare(app, phase int) float64 { return s.apps[app].phases[phase].timeShare }

// mostPartners bounds the pairs that limit the performance of one application, as the effort
// grows with the square of the group otherwise. The others only add to the traffic of the group.
const mostPartners = 15

// quiet reports whether a counts as causing no traffic.
func (a *Application) quiet() bool { return a.target.Total() == 0 && a.corunner.Total() == 0 }

// compoundPairs limits the performance of each application of a group to the product of its
// performances beside each of its heaviest partners alone: a queue grows faster than its load,
// so delays by several neighbors at least compound. The product neglects the capacity of the
// memory; both estimates err toward too little contention, so the lower one is used.
func (s *curveSolver) compoundPairs() {
	if s.pair == nil {
		s.pair = &curveSolver{}
	}
	s.rankByTraffic()
	s.compounded = s.compounded[:0]
	for range s.apps {
		s.compounded = append(s.compounded, 1)
	}
	for i := range s.apps {
		for j := i + 1; j < len(s.apps); j++ {
			hinders, hindered := s.partner(j, i), s.partner(i, j)
			if !hinders && !hindered {
				continue
			}
			s.twoOf = [2]*Application{s.apps[i], s.apps[j]}
			s.pair.reset(s.twoOf[:], s.atHome(i))
			s.pair.solveInPhases(false)
			if hinders {
				s.compounded[i] *= s.pair.performance[0]
			}
			if hindered {
				s.compounded[j] *= s.pair.performance[1]
			}
		}
	}
	for i, product := range s.compounded {
		s.performance[i] = max(min(s.performance[i], product), curves.Floor)
	}
}

// rankByTraffic ranks the applications with traffic, the heaviest first. Those without rank
// behind any partner.
func (s *curveSolver) rankByTraffic() {
	s.byTraffic, s.ranks = s.byTraffic[:0], resized(s.ranks, len(s.apps))
	for i, a := range s.apps {
		s.ranks[i] = math.MaxInt
		if !a.quiet() {
			s.byTraffic = append(s.byTraffic, i)
		}
	}
	slices.SortStableFunc(s.byTraffic, func(i, j int) int {
		a, b := s.apps[i], s.apps[j]
		return cmp.Or(cmp.Compare(b.corunner.Total(), a.corunner.Total()), byName(a, b))
	})
	for rank, i := range s.byTraffic {
		s.ranks[i] = rank
	}
}

// partner reports whether application j is one of the mostPartners heaviest beside i.
func (s *curveSolver) partner(j, i int) bool {
	ahead := s.ranks[j]
	if s.ranks[i] < ahead {
		ahead-- // i is not beside itself
	}
	return ahead < mostPartners
}
