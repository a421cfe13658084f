package memory

import "bandmate.dev/bandmate/units"

// Numbers are those from which a Model computes loads and delays, to the last bit,
// so that this can be done elsewhere.
type Numbers struct {
	// Unit is the bandwidth to which a Flow is relative.
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

// Numbers returns those of m.
func (m *Model) Numbers() Numbers {
	s := Numbers{Unit: m.unit, Bend: m.bend, Linear: m.linear, Queue: m.queue, WriteQueue: m.writeQueue}
	for _, n := range m.slowness {
		s.Slowness = append(s.Slowness, [2]float64{n.share, n.value})
	}
	return s
}
