package memory

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// Delays is how many delays a Tendency is tabulated at: from the one without load
// up to 8192 times that, four to a doubling. In between it is a straight line.
const Delays = 53

// quarters are the powers of two that the delays of a doubling consist of.
var quarters = [...]float64{1, 1.189207115002721, math.Sqrt2, 1.681792830507429}

// delayAtPlace returns the delay number place, from 0 to Delays − 1.
func delayAtPlace(place int) float64 {
	return float64(int(1)<<(place/len(quarters))) * quarters[place%len(quarters)]
}

// Flow is traffic in the units of a model.
type Flow struct{ Read, Write float32 }

// Flow returns traffic in the units of the model.
func (m *Model) Flow(t units.Traffic) Flow {
	f := m.flow(t)
	return Flow{float32(f.read), float32(f.write)}
}

// Traffic returns a flow in bytes per second.
func (m *Model) Traffic(f Flow) units.Traffic {
	return units.Traffic{Read: m.unit * units.Bandwidth(f.Read), Write: m.unit * units.Bandwidth(f.Write)}
}

// Tendency is what a member transfers, and its performance, at each of the Delays.
type Tendency struct {
	Flow        [Delays]Flow
	Performance [Delays]float32
}

// Tendency tabulates a member.
func (m *Model) Tendency(x *Member) *Tendency {
	t := &Tendency{}
	for place := range t.Flow {
		p := x.performance(delayAtPlace(place))
		t.Flow[place] = Flow{float32(x.alone.read * p), float32(x.alone.write * p)}
		t.Performance[place] = float32(p)
	}
	return t
}

// Overload returns by how much, relative to the capacity, members that together
// transfer so much at the delay number place ask for more than the memory carries
// with that delay. Where it changes its sign, they settle (see Model.Settle).
func (m *Model) Overload(place int, f Flow) float32 {
	sum := flow{float64(f.Read), float64(f.Write)}
	return float32(m.load(sum) - m.loadOf(delayAtPlace(place), sum.writeShare()))
}
