package fast

import (
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

// flow reads what flows add up to.
func (at point) flow(flows *[memory.Delays]memory.Flow) memory.Flow {
	low, high := flows[at.place], flows[at.place+1]
	return memory.Flow{Read: at.between(low.Read, high.Read), Write: at.between(low.Write, high.Write)}
}

// pointAt returns the point at a place with a fraction.
func pointAt(place float32) point {
	whole := min(int(place), memory.Delays-2)
	return point{whole, place - float32(whole)}
}

// behind is where those who come over a shared link stand in their tables, by the delay
// of the memory.
type behind struct {
	places [memory.Delays]float32
	shared bool // false where there is no such link, and all stand at the same place
}

// newBehind returns where co-runners with these flows stand, and turns the flows into
// those by the delay of the memory.
func newBehind(m *memory.Model, flows *[memory.Delays]memory.Flow) (b behind) {
	if b.places, b.shared = m.Behind(flows); !b.shared {
		return b
	}
	by := *flows
	for place := range flows {
		flows[place] = pointAt(b.places[place]).flow(&by)
	}
	return b
}

// at returns where they stand when the delay of the memory is at a point.
func (b *behind) at(p point) point {
	if !b.shared {
		return p
	}
	return pointAt(p.between(b.places[p.place], b.places[p.place+1]))
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
func solve(m *memory.Model, place int, residents *[memory.Delays]memory.Flow, newcomer flows) point {
	const last = memory.Delays - 1
	overload := func(place int) float32 { return m.Overload(place, residents[place].Add(newcomer.at(place))) }
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

// sharedMemory returns the model of the memory that describes all of models that
// have curves; nil where there is none.
func sharedMemory(models []*Model) *memory.Model {
	var shared *memory.Model
	for _, m := range models {
		switch {
		case m.delay == nil && !m.sensitive:
			continue // the same in any model
		case m.delay == nil || shared != nil && m.delay.Model != shared:
			return nil
		}
		shared = m.delay.Model
	}
	return shared
}

// addFlows adds what a model transfers at each delay, in one of its roles.
func (m *Model) addFlows(sum *[memory.Delays]memory.Flow, of *memory.Model, role *predictor.RoleTable) {
	if role == nil {
		steady := of.Flow(m.alone)
		for place := range sum {
			sum[place].Read += steady.Read
			sum[place].Write += steady.Write
		}
		return
	}
	for place := range sum {
		sum[place].Read += role.Flow[place].Read
		sum[place].Write += role.Flow[place].Write
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
