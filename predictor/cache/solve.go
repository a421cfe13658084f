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
}

// at returns the share of a member whose lines stay for an age in its time alone.
func (x *Member) at(p Policy, age float64) share {
	if x.Application == nil {
		return share{float64(x.Alone.Read) * age, float64(x.Alone.Read), float64(x.Alone.Write)}
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

// Solver finds how applications share a cache and a memory. What it allocated serves again;
// it serves one goroutine at a time. The zero value is ready.
type Solver struct {
	loops        []memory.Member
	performances []units.NormalizedPerformance
	uses         []float64
}

// Bounds of Solve. A step goes part of the way, the shorter the longer it takes.
const (
	solveSteps = 400
	solveClose = 1e-7
)

// Solve appends to results how each member fares beside all others, in order. It returns
// false where ages, traffic and speeds do not settle, or the memory cannot carry what is
// asked for.
func (s *Solver) Solve(m *Model, mem *memory.Model, members []Member, results []Result) ([]Result, bool) {
	n, first := len(members), len(results)
	for range members {
		results = append(results, Result{Performance: 1})
	}
	found := results[first:]
	s.loops, s.performances, s.uses = sized(s.loops, n), sized(s.performances, n), sized(s.uses, n)
	var age, delay, excess float64
	settled := false
	for step := 0; step < solveSteps && !settled; step++ {
		age = m.age(func(age float64) (held float64) {
			for i := range members {
				held += members[i].at(m.policy, age*found[i].Performance).held
			}
			return held
		})
		var used float64
		for i := range members {
			x := &members[i]
			s.uses[i] = float64(x.Alone.Read) * found[i].Performance
			s.loops[i] = x.Stream
			if a := x.Application; a != nil {
				s.uses[i] = a.reuse.uses() * found[i].Performance
				s.loops[i] = m.loopAt(mem, a, age*found[i].Performance)
			}
			used += s.uses[i]
		}
		delay, excess = mem.Solve(s.loops, s.performances)
		settled = true
		for i := range members {
			p := m.waiting(&members[i], float64(s.performances[i]), used-s.uses[i])
			settled = settled && math.Abs(p-found[i].Performance) < solveClose
			part := math.Exp2(-1 - float64(step)/60)
			found[i].Performance *= math.Pow(p/found[i].Performance, part)
		}
	}
	var used float64
	for _, u := range s.uses {
		used += u
	}
	for i := range members {
		x, f := &members[i], &found[i]
		own := x.at(m.policy, age*f.Performance)
		f.Held = own.held
		f.Traffic = units.Traffic{Read: units.Bandwidth(own.read * f.Performance), Write: units.Bandwidth(own.write * f.Performance)}
		f.Kept = f.Performance
		if a := x.Application; a != nil {
			kept := m.loopAt(mem, a, a.alone)
			f.Kept = max(m.waiting(x, kept.Performance(delay), used-s.uses[i]), f.Performance)
		}
	}
	return results, excess >= 0 || memory.Close(excess)
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
