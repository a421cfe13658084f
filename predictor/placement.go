package predictor

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"bandmate.dev/bandmate/predictor/cache"
)

// Caches is a set of last-level caches alike, numbered from 0: those in any of which an
// application may run, each as likely.
type Caches uint64

// MostCaches is how many caches Caches can tell from each other.
const MostCaches = 64

// AnyCache is that of an application of which nobody knows where it runs.
const AnyCache Caches = 0

// CachesOf returns the set of caches with these numbers, from 0 to MostCaches − 1.
func CachesOf(numbers ...int) Caches {
	var c Caches
	for _, n := range numbers {
		c |= 1 << n
	}
	return c
}

// Len returns the number of caches in the set; 0 for AnyCache.
func (c Caches) Len() int { return bits.OnesCount64(uint64(c)) }

// at returns the number of cache i of the set, in ascending order.
func (c Caches) at(i int) int {
	for range i {
		c &= c - 1
	}
	return bits.TrailingZeros64(uint64(c))
}

// In returns a as it runs in one of these caches, or a without a place for AnyCache. It
// matters beside others, and where a machine has several caches before one memory. All
// applications of a prediction count the caches alike.
func (a *Application) In(c Caches) *Application {
	if a.anywhere != nil {
		a = a.anywhere
	}
	if c == AnyCache {
		return a
	}
	placed := *a
	placed.in, placed.anywhere = c, a
	return &placed
}

// mostEnumerated bounds the applications whose placements in several caches are all
// solved: five have 52. Of more, samplePlacements random ones are.
// Where the place of some is known, as many are solved at most, found among mostChoices
// choices of a cache for each.
const (
	mostEnumerated   = 5
	samplePlacements = 52
	mostChoices      = 4096
)

// choosePlaceable finds the applications whose cache matters: those that use one. They are
// ordered by name, so that random placements do not depend on the order of the caller.
func (s *modelSolver) choosePlaceable() {
	s.placeable = s.placeable[:0]
	for i := range s.sharing {
		if s.apps[i].SharesCache() || s.sharing[i].Alone.Total() > 0 {
			s.placeable = append(s.placeable, i)
		}
	}
	slices.SortStableFunc(s.placeable, func(i, j int) int { return byName(s.apps[i], s.apps[j]) })
}

// averagePlacements sets shares to the means over the placements of the applications in the
// caches where they may run, each as likely. It returns the standard deviation of the target's performance
// over them, and whether all have a solution.
func (s *modelSolver) averagePlacements(m *cache.Model, shares []cache.Result) (spread float64, solved bool) {
	clear(shares)
	s.placed = resized(s.placed, len(s.placeable))
	clear(s.placed)
	var squares float64
	solved = true
	add := func(weight float64) {
		for place, i := range s.placeable {
			s.sharing[i].Cache = s.placed[place]
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
	case s.anyPlaced():
		s.eachKnown(add)
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

// anyPlaced reports whether it is known of an application in which caches it may run.
func (s *modelSolver) anyPlaced() bool {
	return slices.ContainsFunc(s.placeable, func(i int) bool { return s.apps[i].in != AnyCache })
}

// weighted is a placement and how likely it is.
type weighted struct {
	placed []int
	weight float64
}

// eachKnown sets placed to every placement that differs in who is with whom, and calls add
// with how likely it is. Of too many it takes random ones.
func (s *modelSolver) eachKnown(add func(weight float64)) {
	choices := s.allow()
	s.distinct = s.distinct[:0]
	few := choices <= mostChoices
	for choice := 0; few && choice < choices; choice++ {
		rest := choice
		for i, c := range s.allowed {
			s.placed[i] = c.at(rest % c.Len())
			rest /= c.Len()
		}
		renumber(s.placed)
		s.count(1 / float64(choices))
		few = len(s.distinct) <= samplePlacements
	}
	if few {
		for _, d := range s.distinct {
			copy(s.placed, d.placed)
			add(d.weight)
		}
		return
	}
	var source rand.PCG
	for range samplePlacements {
		for i, c := range s.allowed {
			s.placed[i] = c.at(int(source.Uint64() % uint64(c.Len()))) //nolint:gosec // MostCaches at most
		}
		add(1.0 / samplePlacements)
	}
}

// allow sets the caches of each that is placeable, and returns how many choices of one for each
// there are. Those of unknown place may run in as many as there are before one memory, or
// as others are known to run in. Above mostChoices the number is not exact.
func (s *modelSolver) allow() (choices int) {
	all := Caches(1)<<s.caches - 1
	for _, i := range s.placeable {
		all |= Caches(1)<<bits.Len64(uint64(s.apps[i].in)) - 1
	}
	s.allowed, choices = resized(s.allowed, len(s.placeable)), 1
	for place, i := range s.placeable {
		if s.allowed[place] = s.apps[i].in; s.allowed[place] == AnyCache {
			s.allowed[place] = all
		}
		if choices <= mostChoices {
			choices *= s.allowed[place].Len()
		}
	}
	return choices
}

// count adds a weight to the placement of the same numbers in distinct.
func (s *modelSolver) count(weight float64) {
	for i := range s.distinct {
		if slices.Equal(s.distinct[i].placed, s.placed) {
			s.distinct[i].weight += weight
			return
		}
	}
	n := len(s.distinct)
	s.distinct = slices.Grow(s.distinct, 1)[:n+1]
	last := &s.distinct[n]
	last.placed, last.weight = append(last.placed[:0], s.placed...), weight
}

// renumber numbers the caches of a placement in the order of who is first in each.
func renumber(placed []int) {
	var numbers [MostCaches]int // plus 1
	next := 0
	for i, in := range placed {
		if numbers[in] == 0 {
			next++
			numbers[in] = next
		}
		placed[i] = numbers[in] - 1
	}
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
