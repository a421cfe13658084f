package cache

import (
	"math"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Point is the performance of an application beside one setting of an interferer.
type Point struct {
	// Footprint is the working set, in bytes, that the interferer touches in random
	// order; 0 for one that streams through far more than the cache.
	Footprint float64
	// ReadShare is that of its traffic where nothing hits.
	ReadShare units.ReadShare
	// Solo and Achieved are its rates alone and beside the application, above 0: of
	// traffic for a stream, of accesses for a footprint.
	Solo, Achieved units.Bandwidth
	// Total is the traffic of both at the memory; negative where that is unknown.
	Total units.Bandwidth
	// Performance is that of the application, above 0.
	Performance units.NormalizedPerformance
	// Interferers is their number; 0 means 1.
	Interferers int
}

// set returns the working set of a random interferer that makes its accesses at a rate.
func (p *Point) set(rate float64) Set { return Set{p.Footprint, p.Footprint / rate, 1} }

// held returns what the interferer of a point holds of the cache.
func (m *Model) held(p *Point, age float64) float64 {
	if p.Footprint == 0 {
		return float64(p.Achieved) * float64(p.ReadShare) * m.policy.fresh * age
	}
	s := p.set(float64(p.Achieved))
	held, _ := s.at(m.policy, age)
	return held
}

// ageBeside returns the age of lines beside the interferer of a point, by the performance and
// the rate that were measured.
func (m *Model) ageBeside(a *Application, p *Point) float64 {
	speed := float64(p.Performance)
	return m.age(func(age float64) float64 {
		return a.reuse.at(m.policy, speed*age).held + m.held(p, age)
	})
}

// pressing returns the interferer of a point as a loop before the memory.
func (m *Model) pressing(mem *memory.Model, p *Point, age float64) memory.Member {
	if p.Footprint == 0 {
		return mem.Interferers(units.TrafficOf(p.Solo, p.ReadShare), p.Interferers)
	}
	beside, alone := p.set(float64(p.Achieved)), p.set(float64(p.Solo))
	_, missing := beside.at(m.policy, age)
	_, atFirst := alone.at(m.policy, m.age(func(age float64) float64 {
		held, _ := alone.at(m.policy, age)
		return held
	}))
	// A store reads its line and writes it back, so that a part s of stores makes a read
	// share of 1 ÷ (1 + s).
	written := dirty(min(1/float64(p.ReadShare)-1, 1), missing)
	most := units.Traffic{Read: p.Solo, Write: p.Solo * units.Bandwidth(written)}
	return mem.Paced(most, atFirst, m.inFlight*float64(max(p.Interferers, 1))*(1+written), m.extra(p.Footprint)).Missing(missing)
}

// extra returns the weight of a random interferer of a footprint.
func (m *Model) extra(footprint float64) float64 {
	if len(m.weights) == 0 {
		return 0
	}
	w := m.weights
	if footprint <= w[0].footprint {
		return w[0].extra
	}
	for i := 1; i < len(w); i++ {
		if footprint <= w[i].footprint {
			part := math.Log(footprint/w[i-1].footprint) / math.Log(w[i].footprint/w[i-1].footprint)
			return w[i-1].extra + part*(w[i].extra-w[i-1].extra)
		}
	}
	return w[len(w)-1].extra
}

// beside is what the model says of a point.
type beside struct {
	performance, achieved, total float64
	// growth is by how much the application's traffic per unit of work exceeds that alone,
	// relative.
	growth float64
}

// at returns what the model says of a point.
func (m *Model) at(mem *memory.Model, a *Application, p *Point) beside {
	age := m.ageBeside(a, p)
	own := age * float64(p.Performance)
	members := [2]memory.Member{m.loopAt(mem, a, own), m.pressing(mem, p, age)}
	var performances [2]units.NormalizedPerformance
	mem.Solve(members[:], performances[:])
	var b beside
	b.performance = float64(performances[0])
	uses := float64(p.Achieved)
	if p.Footprint == 0 {
		uses *= float64(p.ReadShare)
	}
	b.performance = 1 / (1/b.performance + a.wait*uses/m.port)
	b.achieved = float64(performances[1] * units.NormalizedPerformance(p.Solo))
	b.total = a.reuse.at(m.policy, own).moved()*b.performance + float64(mem.TrafficOf(&members[1], float64(performances[1])).Total())
	if alone := a.part * a.most; alone > 0 {
		b.growth = a.reuse.at(m.policy, own).moved()/alone - 1
	}
	return b
}
