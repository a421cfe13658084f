package memory

import (
	"math"

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

// Tabulate returns what a member transfers, and its performance, at each delay.
func (m *Model) Tabulate(x *Member) (flow [Delays]Flow, performance [Delays]float32) {
	for place := range flow {
		p := x.performance(delayAtPlace(place))
		flow[place] = Flow{float32(x.alone.read * p), float32(x.alone.write * p)}
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
