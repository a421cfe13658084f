package predictor

import (
	"math"
	"math/rand/v2"

	"bandmate.dev/bandmate/predictor/cache"
)

// mostEnumerated bounds the applications whose placements in several caches are all
// solved: five have 52. Of more, samplePlacements random ones are.
const (
	mostEnumerated   = 5
	samplePlacements = 52
)

// averagePlacements sets shares to the means over the placements of the applications in the
// caches, each as likely. It returns the standard deviation of the target's performance
// over them, and whether all have a solution.
func (s *modelSolver) averagePlacements(m *cache.Model, shares []cache.Result) (spread float64, solved bool) {
	clear(shares)
	s.placed = resized(s.placed, len(s.sharing))
	clear(s.placed)
	var squares float64
	solved = true
	add := func(weight float64) {
		for i := range s.sharing {
			s.sharing[i].Cache = s.placed[i]
		}
		var ok bool
		s.placement, ok = s.solver.Solve(m, s.model, s.sharing, s.placement[:0])
		solved = solved && ok
		for i, one := range s.placement {
			shares[i] = shares[i].Add(one, weight)
		}
		squares += weight * s.placement[0].Performance * s.placement[0].Performance
	}
	switch {
	case s.caches <= 1:
		add(1)
		return 0, solved
	case len(s.placed) <= mostEnumerated:
		for next := true; next; next = nextPlacement(s.placed, s.caches) {
			add(likelihood(s.placed, s.caches))
		}
	default:
		var source rand.PCG
		for range samplePlacements {
			for i := range s.placed {
				s.placed[i] = int(source.Uint64() % uint64(s.caches)) //nolint:gosec // below caches
			}
			add(1.0 / samplePlacements)
		}
	}
	mean := shares[0].Performance
	return math.Sqrt(max(squares-mean*mean, 0)), solved
}

// nextPlacement makes the next of the placements that differ in who is with whom: the first
// of a cache has the lowest number that is free. It returns false after the last.
func nextPlacement(placed []int, caches int) bool {
	for i := len(placed) - 1; i > 0; i-- {
		if placed[i] < min(inUse(placed[:i]), caches-1) {
			placed[i]++
			clear(placed[i+1:])
			return true
		}
	}
	return false
}

// likelihood returns how likely placed is, with the caches in any order.
func likelihood(placed []int, caches int) float64 {
	p := 1.0
	for taken := range inUse(placed) {
		p *= float64(caches - taken)
	}
	return p / math.Pow(float64(caches), float64(len(placed)))
}

// inUse returns how many caches have an application.
func inUse(placed []int) int {
	last := -1
	for _, in := range placed {
		last = max(last, in)
	}
	return last + 1
}
