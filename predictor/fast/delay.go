package fast

import (
	"slices"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
)

// point is a place between two delays of a table.
type point struct {
	place int
	part  float32 // of the way to the next
}

func (at point) between(low, high float32) float32 { return low + at.part*(high-low) }

// excess reads the slowdown less 1 of an application.
func (at point) excess(t *predictor.RoleTable, column float32) float32 {
	half, reads := &t.Excess[0], &t.Excess[1]
	low := half[at.place] + column*(reads[at.place]-half[at.place])
	high := half[at.place+1] + column*(reads[at.place+1]-half[at.place+1])
	return at.between(low, high)
}

// flow reads what applications transfer together.
func (at point) flow(s *sums) memory.Flow {
	low, high := s.at(at.place).Flow, s.at(at.place+1).Flow
	return memory.Flow{Read: at.between(low.Read, high.Read), Write: at.between(low.Write, high.Write)}
}

// pointAt returns the point at a place with a fraction.
func pointAt(place float32) point {
	whole := min(int(place), memory.Delays-2)
	return point{whole, place - float32(whole)}
}

// sums are what applications transfer and lose together at each delay. An estimate reads
// two or three of them, next to the delay without a newcomer, and seldom finds them in a
// cache. So they are turned to begin there: the first delay follows the last one.
type sums struct {
	first int // the place of the delay where all begins; 0 while they are added up
	all   [memory.Delays]sum
}

// sum is what applications transfer and lose together at a delay.
type sum struct {
	memory.Flow
	cost float32
}

// at returns the sum at the delay of a place.
func (s *sums) at(place int) *sum {
	i := place - s.first
	if i < 0 {
		i += memory.Delays
	}
	return &s.all[i]
}

// beginAt turns sums that were added up.
func (s *sums) beginAt(place int) {
	s.first = place
	slices.Reverse(s.all[:place])
	slices.Reverse(s.all[place:])
	slices.Reverse(s.all[:])
}

// costAt reads what applications lose.
func (s *sums) costAt(at point) float32 {
	return at.between(s.at(at.place).cost, s.at(at.place+1).cost)
}

// behind is where those who come over a shared link stand in their tables, by the delay
// of the memory; nil where there is no such link, and all stand at the same place.
type behind []float32

// newBehind returns where co-runners stand that transfer this, and turns that into what
// they transfer by the delay of the memory.
func newBehind(m *memory.Model, s *sums) behind {
	if m.SharesLink() {
		return behindLink(m, s)
	}
	return nil
}

// behindLink is newBehind where there is such a link. It is apart, as costs is, so that
// others do not need its stack: the scheduler scores in new goroutines, whose stacks
// are small, and to grow one takes as long as many estimates.
func behindLink(m *memory.Model, s *sums) behind {
	var flow [memory.Delays]memory.Flow
	for place := range s.all {
		flow[place] = s.all[place].Flow
	}
	places, _ := m.Behind(&flow)
	by := *s
	for place := range s.all {
		s.all[place].Flow = pointAt(places[place]).flow(&by)
	}
	return places[:]
}

// costs turns what they lose into that by the delay of the memory.
//
//go:noinline
func (b behind) costs(s *sums) {
	by := *s
	for place := range s.all {
		s.all[place].cost = by.costAt(pointAt(b[place]))
	}
}

// at returns where they stand when the delay of the memory is at a point.
func (b behind) at(p point) point {
	if b == nil {
		return p
	}
	return pointAt(p.between(b[p.place], b[p.place+1]))
}

// flows is what an application transfers at each delay.
type flows struct {
	byDelay *[memory.Delays]memory.Flow // nil where it is the same at each
	steady  memory.Flow
}

func (f flows) at(place int) memory.Flow {
	if f.byDelay != nil {
		return f.byDelay[place]
	}
	return f.steady
}

// flows returns what a model transfers in one of its roles; nil without tables.
func (m *Model) flows(of *memory.Model, role *predictor.RoleTable) flows {
	if role != nil {
		return flows{byDelay: &role.Flow}
	}
	return flows{steady: of.Flow(m.alone)}
}

// solve finds the delay at which the memory carries what residents and a newcomer
// transfer, from place on.
func solve(m *memory.Model, place int, residents *sums, newcomer flows) point {
	const last = memory.Delays - 1
	overload := func(place int) float32 { return m.Overload(place, residents.at(place).Flow.Add(newcomer.at(place))) }
	before := overload(place)
	for before <= 0 && place > 0 {
		place--
		before = overload(place)
	}
	for before > 0 && place < last {
		after := overload(place + 1)
		if after <= 0 {
			return point{place, before / (before - after)}
		}
		place, before = place+1, after
	}
	if place == last {
		return point{last - 1, 1}
	}
	return point{place, 0}
}

// sharedMemory returns the model of the memory that describes all residents that have
// curves; nil where there is none.
func sharedMemory(residents []Resident) *memory.Model {
	var shared *memory.Model
	for _, r := range residents {
		switch m := r.Model; {
		case m.delay == nil && !m.sensitive:
			continue // the same in any model
		case m.delay == nil || shared != nil && m.delay.Model != shared:
			return nil
		default:
			shared = m.delay.Model
		}
	}
	return shared
}

// addFlows adds what a model transfers at each delay, in one of its roles.
func (m *Model) addFlows(s *sums, of *memory.Model, role *predictor.RoleTable) {
	if role == nil {
		steady := of.Flow(m.alone)
		for place := range s.all {
			s.all[place].Flow = s.all[place].Add(steady)
		}
		return
	}
	for place := range s.all {
		s.all[place].Flow = s.all[place].Add(role.Flow[place])
	}
}

func (m *Model) corunner() *predictor.RoleTable {
	if m.delay == nil {
		return nil
	}
	return m.delay.Corunner
}

func (m *Model) target() *predictor.RoleTable {
	if m.delay == nil {
		return nil
	}
	return m.delay.Target
}
