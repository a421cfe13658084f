package memory

import (
	"math"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Delays is the number of delays that members are tabulated at: from the delay
// without load up to 8192 times that, four to a doubling.
const Delays = 53

// quarters are the powers of two that the delays of a doubling consist of.
var quarters = [...]float64{1, 1.189207115002721, math.Sqrt2, 1.681792830507429}

// delayAtPlace returns the delay number place, from 0 to Delays − 1.
func delayAtPlace(place int) float64 {
	return float64(int(1)<<(place/len(quarters))) * quarters[place%len(quarters)]
}

// Flow is traffic relative to the bandwidth that a Model measures in.
type Flow struct{ Read, Write float32 }

// Add returns the sum of two flows.
func (f Flow) Add(g Flow) Flow { return Flow{f.Read + g.Read, f.Write + g.Write} }

// Flow returns traffic in the units of the model.
func (m *Model) Flow(t units.Traffic) Flow {
	f := m.flow(t)
	return Flow{float32(f.read), float32(f.write)}
}

// Traffic returns a flow in bytes per second.
func (m *Model) Traffic(f Flow) units.Traffic {
	return units.Traffic{Read: m.unit * units.Bandwidth(f.Read), Write: m.unit * units.Bandwidth(f.Write)}
}

// Tabulate returns what a member transfers, by its weight in the memory, and its
// performance, at each delay. That of a member behind a shared link is the delay of the
// memory and the wait for the link.
func (m *Model) Tabulate(x *Member) (flow [Delays]Flow, performance [Delays]float32) {
	for place := range flow {
		p := x.performance(delayAtPlace(place))
		weighed := p * (1 + x.loop.extra)
		flow[place] = Flow{float32(x.alone.read * weighed), float32(x.alone.write * weighed)}
		performance[place] = float32(p)
	}
	return flow, performance
}

// Overload returns the excess of flow f, relative to the capacity, over what the memory
// carries at delay number place. The solution of Solve lies where it changes its sign.
func (m *Model) Overload(place int, f Flow) float32 {
	sum := flow{float64(f.Read), float64(f.Write)}
	return float32(m.load(sum) - m.loadOf(delayAtPlace(place), sum.writeShare()))
}

// linkBisections halve the way between two places.
const linkBisections = 12

// SharesLink reports whether all who come over a link share one.
func (m *Model) SharesLink() bool { return m.link.kind == LinkShared }

// Behind returns, for each delay of the memory, the place in their tables of all who come
// over a shared link: that of the delay which is longer by the wait for the link. Parts
// of the way to the next place are fractions. flow is what they transfer together at each
// delay of their tables. It is false where there is no shared link.
func (m *Model) Behind(flow *[Delays]Flow) (places [Delays]float32, shared bool) {
	if !m.SharesLink() {
		return places, false
	}
	var use, delay [Delays]float64
	for place, f := range flow {
		use[place] = (float64(f.Read) + m.link.write*float64(f.Write)) / m.link.capacity
		delay[place] = delayAtPlace(place)
	}
	place := 0
	for memory := range places {
		// overload is how much more of the link is used than leaves the wait.
		overload := func(part float64) float64 {
			next := min(place+1, Delays-1)
			wait := delay[place] + part*(delay[next]-delay[place]) - delay[memory]
			return use[place] + part*(use[next]-use[place]) - wait/(m.link.queue+wait)
		}
		place = max(place, memory)
		for place < Delays-1 && overload(1) > 0 {
			place++
		}
		low, _ := stats.Bisect(0, 1, linkBisections, func(part float64) bool { return overload(part) > 0 })
		if place == Delays-1 || use[place] <= 0 {
			low = 0
		}
		places[memory] = float32(place) + float32(low)
	}
	return places, true
}
