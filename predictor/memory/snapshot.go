package memory

import "bandmate.dev/bandmate/units"

// ModelSnapshot is everything that Solve reads of a Model, as plain numbers, so
// that it can be computed elsewhere. They are those of the model to the last bit.
type ModelSnapshot struct {
	// Unit is the bandwidth that traffic of members is relative to.
	Unit units.Bandwidth `json:"unit"`
	// Slowness is pairs of a read share and 1 ÷ the capacity there, in order of
	// read share; Bend is that of the line between two of them.
	Slowness [][2]float64 `json:"slowness"`
	Bend     float64      `json:"bend"`
	// Linear, Queue and WriteQueue are the factors of the terms of the delay.
	Linear     float64 `json:"linear"`
	Queue      float64 `json:"queue"`
	WriteQueue float64 `json:"writeQueue"`
}

// MemberSnapshot is everything that Solve reads of a Member, to the last bit:
// its traffic alone relative to ModelSnapshot.Unit, and its times per unit of
// traffic (see Member). Time is 0 for one whose traffic is constant.
type MemberSnapshot struct {
	Read     float64 `json:"read"`
	Write    float64 `json:"write"`
	Delay    float64 `json:"delay"`
	Time     float64 `json:"time"`
	Compute  float64 `json:"compute"`
	Memory   float64 `json:"memory"`
	Link     float64 `json:"link,omitempty"`
	InFlight float64 `json:"inFlight"`
	Overlap  float64 `json:"overlap"`
}

// Snapshot returns the numbers of m.
func (m *Model) Snapshot() ModelSnapshot {
	s := ModelSnapshot{Unit: m.unit, Bend: m.bend, Linear: m.linear, Queue: m.queue, WriteQueue: m.writeQueue}
	for _, n := range m.slowness {
		s.Slowness = append(s.Slowness, [2]float64{n.share, n.value})
	}
	return s
}

// Snapshot returns the numbers of x.
func (x *Member) Snapshot() MemberSnapshot {
	return MemberSnapshot{
		Read: x.alone.read, Write: x.alone.write, Delay: x.delay, Time: x.time,
		Compute: x.compute, Memory: x.memory, Link: x.link, InFlight: x.loop.inFlight, Overlap: x.loop.overlap,
	}
}
