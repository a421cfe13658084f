package cache

import (
	"math"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Member is an application among those that share a cache.
type Member struct {
	// Application is nil for one of which only the traffic is known: it is taken to
	// stream.
	Application *Application
	// Stream and Alone are such a one as a loop before the memory, and its traffic alone.
	Stream memory.Member
	Alone  units.Traffic
	// Cache tells caches alike from each other, in any numbers: members in others meet at
	// the memory only.
	Cache int
}

// at returns the share of a member whose lines stay for an age in its time alone.
func (x *Member) at(p Policy, age float64) share {
	if x.Application == nil {
		return share{float64(x.Alone.Read) * p.fresh * age, float64(x.Alone.Read), float64(x.Alone.Write)}
	}
	return x.Application.reuse.at(p, age)
}

// Result is how an application fares in a Solution.
type Result struct {
	// Performance is relative to alone, above 0 to 1.
	Performance float64
	// Held is what it holds of the cache, in bytes.
	Held float64
	// Traffic is at the memory.
	Traffic units.Traffic
	// Kept is the performance if it missed no more than alone, at the same delay of the
	// memory: what is lost above that is bandwidth, the rest is cache.
	Kept float64
}

// Add returns the sum of r and another result, multiplied by a weight.
func (r Result) Add(other Result, weight float64) Result {
	return Result{
		Performance: r.Performance + weight*other.Performance,
		Held:        r.Held + weight*other.Held,
		Traffic:     r.Traffic.Add(other.Traffic.Scale(weight)),
		Kept:        r.Kept + weight*other.Kept,
	}
}

// Solver finds how applications share a cache and a memory. What it allocated serves again;
// it serves one goroutine at a time. The zero value is ready.
type Solver struct {
	loops        []memory.Member
	performances []units.NormalizedPerformance
	uses         []float64
	ages, used   []float64 // of the cache of each member
}

// Bounds of Solve. A step goes part of the way, the shorter the longer it takes.
const (
	solveSteps = 400
	solveClose = 1e-7
)

// Solve appends to results how each member fares beside all others, in order; m is each of
// the caches. It returns false where the memory cannot carry what is asked for. Where ages,
// traffic and speeds do not settle, the results are those of the last step.
func (s *Solver) Solve(m *Model, mem *memory.Model, members []Member, results []Result) ([]Result, bool) {
	n, first := len(members), len(results)
	for range members {
		results = append(results, Result{Performance: 1})
	}
	found := results[first:]
	s.loops, s.performances, s.uses = sized(s.loops, n), sized(s.performances, n), sized(s.uses, n)
	s.ages, s.used = sized(s.ages, n), sized(s.used, n)
	var delay, excess float64
	settled := false
	for step := 0; step < solveSteps && !settled; step++ {
		s.settleAges(m, members, found)
		for i := range members {
			x := &members[i]
			s.uses[i] = float64(x.Alone.Read) * found[i].Performance
			s.loops[i] = x.Stream
			if a := x.Application; a != nil {
				s.uses[i] = a.reuse.uses() * found[i].Performance
				s.loops[i] = m.loopAt(mem, a, s.ages[i]*found[i].Performance)
			}
		}
		s.sumUses(members)
		delay, excess = mem.Solve(s.loops, s.performances)
		settled = true
		for i := range members {
			p := m.waiting(&members[i], float64(s.performances[i]), s.used[i]-s.uses[i])
			settled = settled && math.Abs(p-found[i].Performance) < solveClose
			part := math.Exp2(-1 - float64(step)/60)
			found[i].Performance *= math.Pow(p/found[i].Performance, part)
		}
	}
	for i := range members {
		x, f := &members[i], &found[i]
		own := x.at(m.policy, s.ages[i]*f.Performance)
		f.Held = own.held
		f.Traffic = units.Traffic{Read: units.Bandwidth(own.read * f.Performance), Write: units.Bandwidth(own.write * f.Performance)}
		f.Kept = f.Performance
		if a := x.Application; a != nil {
			kept := m.loopAt(mem, a, a.alone)
			f.Kept = max(m.waiting(x, kept.Performance(delay), s.used[i]-s.uses[i]), f.Performance)
		}
	}
	return results, excess >= 0 || memory.Close(excess)
}

// settleAges sets the age at which the members of each cache fill it, at the performances
// found.
func (s *Solver) settleAges(m *Model, members []Member, found []Result) {
	for i := range members {
		if first := firstIn(members, i); first < i {
			s.ages[i] = s.ages[first]
			continue
		}
		s.ages[i] = m.age(func(age float64) (held float64) {
			for j := range members {
				if members[j].Cache == members[i].Cache {
					held += members[j].at(m.policy, age*found[j].Performance).held
				}
			}
			return held
		})
	}
}

// sumUses sets the sum of the uses of each cache.
func (s *Solver) sumUses(members []Member) {
	for i := range members {
		if first := firstIn(members, i); first < i {
			s.used[i] = s.used[first]
			continue
		}
		s.used[i] = 0
		for j := range members {
			if members[j].Cache == members[i].Cache {
				s.used[i] += s.uses[j]
			}
		}
	}
}

// firstIn returns the first member in the cache of member i.
func firstIn(members []Member, i int) int {
	first := 0
	for members[first].Cache != members[i].Cache {
		first++
	}
	return first
}

// waiting returns a performance with the wait for the port of the cache, which others use at
// a rate.
func (m *Model) waiting(x *Member, p, others float64) float64 {
	if x.Application == nil {
		return p
	}
	return 1 / (1/p + x.Application.wait*min(others/m.port, 1))
}

// sized returns a slice of length n, in the memory of s where that is enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
