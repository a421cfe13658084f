package score

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// crowd is everyone in a domain by the delay of its memory, added up once, so that
// a newcomer is estimated in nanoseconds however many they are: where everybody is
// described by one model of the memory, the delay is all that they have in common.
// Everyone is taken at mean traffic.
type crowd struct {
	model *memory.Model
	// settled is where they settle by themselves, cost what they lose there.
	settled point
	cost    float32
	// share is the column of the read share of their traffic there.
	share float32
	busy  float32 // bytes per second there
	at    [memory.Delays]crowdAt
}

// Fine reports whether an estimate for the newcomer rests on a model of the memory
// that describes it and everyone there: choosing by such estimates loses a few
// hundredths of what choosing by exact scores gains over chance. Others are coarse,
// and good for a shortlist only.
//
// What newcomer and residents exchange with each other over a network is coarse.
func (l *Load) Fine(k *Sketch) bool {
	return l.crowd != nil && k != nil && k.tendency != nil && k.tendency.Model == l.crowd.model &&
		(k.network == exchange{} || l.network == exchange{})
}

// crowdAt is what they transfer together at a delay, and what they lose by it: the
// sum weighed by CPUs, or for WorstSlowdown the most of one.
type crowdAt struct {
	flow memory.Flow
	cost float32
}

// point is a place between two delays.
type point struct {
	place int
	part  float32 // of the way to the next
}

func (at point) between(low, high float32) float32 { return low + at.part*(high-low) }

// crowdOf adds residents up; nil where no model describes them together. Sketches
// are those of the residents, nil for one of which nothing is known.
func crowdOf(l *Load, sketches []*Sketch, o Objective) *crowd {
	c := &crowd{}
	for _, k := range sketches {
		if k == nil || k.tendency == nil {
			continue
		}
		if c.model != nil && c.model != k.tendency.Model {
			return nil
		}
		c.model = k.tendency.Model
	}
	if c.model == nil {
		return nil
	}
	for i, a := range l.apps {
		if i < len(sketches) && sketches[i] != nil && sketches[i].tendency != nil {
			c.add(&sketches[i].tendency.Corunner.Flow)
			continue
		}
		if sensitivity, _ := a.Known(); sensitivity {
			return nil // by its curves alone
		}
		c.addConstant(a)
	}
	c.settled = c.settle(0, func(place int) memory.Flow { return c.at[place].flow })
	c.weigh(l, sketches, o)
	return c
}

func (c *crowd) add(flows *[memory.Delays]memory.Flow) {
	for place := range flows {
		c.at[place].flow.Read += flows[place].Read
		c.at[place].flow.Write += flows[place].Write
	}
}

// addConstant adds one that transfers the same whatever the delay.
func (c *crowd) addConstant(a *predictor.Application) {
	traffic, _ := a.Contentiousness()
	flow := c.model.Flow(traffic)
	for place := range c.at {
		c.at[place].flow.Read += flow.Read
		c.at[place].flow.Write += flow.Write
	}
}

// weigh sets what residents lose.
func (c *crowd) weigh(l *Load, sketches []*Sketch, o Objective) {
	low, high := c.at[c.settled.place].flow, c.at[c.settled.place+1].flow
	traffic := units.Traffic{
		Read:  units.Bandwidth(c.settled.between(low.Read, high.Read)),
		Write: units.Bandwidth(c.settled.between(low.Write, high.Write)),
	}
	c.share = shareColumn(traffic)
	c.busy = float32(c.model.Traffic(memory.Flow{Read: float32(traffic.Read), Write: float32(traffic.Write)}).Total())
	for i, k := range sketches {
		if k == nil || k.tendency == nil {
			continue
		}
		cpus := float32(l.domain.Residents[i].CPUs)
		half, reads := &k.tendency.Corunner.Excess[0], &k.tendency.Corunner.Excess[1]
		for place := range c.at {
			excess := half[place] + c.share*(reads[place]-half[place])
			if o == WorstSlowdown {
				c.at[place].cost = max(c.at[place].cost, excess)
			} else {
				c.at[place].cost += cpus * excess
			}
		}
	}
	c.cost = c.settled.between(c.at[c.settled.place].cost, c.at[c.settled.place+1].cost)
}

// settle finds where the memory carries what flow says, from place on.
func (c *crowd) settle(place int, flow func(place int) memory.Flow) point {
	const last = memory.Delays - 1
	before := c.model.Overload(place, flow(place))
	for before <= 0 && place > 0 {
		place--
		before = c.model.Overload(place, flow(place))
	}
	for before > 0 && place < last {
		after := c.model.Overload(place+1, flow(place+1))
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

// estimate returns the slowdown of a newcomer beyond 1, and what residents lose
// because of it, or for WorstSlowdown the most that one then loses.
func (c *crowd) estimate(k *Sketch, o Objective) (own, residents float32) {
	t := k.tendency
	var at point
	if t != nil && t.Model == c.model {
		flows := &t.Target.Flow
		at = c.settle(c.settled.place, func(place int) memory.Flow {
			f := c.at[place].flow
			return memory.Flow{Read: f.Read + flows[place].Read, Write: f.Write + flows[place].Write}
		})
		half, reads := &t.Target.Excess[0], &t.Target.Excess[1]
		low := half[at.place] + c.share*(reads[at.place]-half[at.place])
		high := half[at.place+1] + c.share*(reads[at.place+1]-half[at.place+1])
		own = at.between(low, high)
	} else {
		// By its curves beside what they transfer; on them it presses as alone.
		own = k.beside(c.busy, c.share)
		flow := c.model.Flow(k.alone)
		at = c.settle(c.settled.place, func(place int) memory.Flow {
			f := c.at[place].flow
			return memory.Flow{Read: f.Read + flow.Read, Write: f.Write + flow.Write}
		})
	}
	residents = at.between(c.at[at.place].cost, c.at[at.place+1].cost)
	if o != WorstSlowdown {
		residents -= c.cost
	}
	return own, residents
}
