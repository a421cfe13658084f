package memory

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// Model is the delay of a memory against its load,
//
//	delay(U) = 1 + linear·ρ + (queue + writeQueue·w)·ρ ÷ (1 − ρ),   ρ = U ÷ capacity(r)
//
// in units of the delay without load, where U is the traffic, r its read share
// and w = 1 − r. The last term is that of a queue, which writes make worse, because
// a channel has to be turned around for them; the linear one is of banks and
// rows that are in use. It is immutable and safe for concurrent use.
type Model struct {
	// unit is the bandwidth that all others are relative to.
	unit units.Bandwidth
	// slowness is 1 ÷ the capacity by read share; between two of its nodes it is
	// a straight line with a bend of the given size.
	slowness line
	bend     float64

	linear, queue, writeQueue float64

	interferer interferer
	link       link
}

// fullest is the highest load at which the delay is evaluated.
const fullest = 0.9999

// flow is traffic relative to Model.unit.
type flow struct{ read, write float64 }

func (f flow) total() float64 { return f.read + f.write }

// add returns f + g.
func (f flow) add(g flow) flow { return flow{f.read + g.read, f.write + g.write} }

// scale returns factor × f.
func (f flow) scale(factor float64) flow { return flow{f.read * factor, f.write * factor} }

// flow returns traffic in the units of the model.
func (m *Model) flow(t units.Traffic) flow {
	return flow{float64(t.Read / m.unit), float64(t.Write / m.unit)}
}

// load returns ρ.
func (m *Model) load(f flow) float64 {
	total := f.total()
	if total <= 0 {
		return 0
	}
	return total * m.inverseCapacity(f.read/total)
}

// inverseCapacity returns 1 ÷ the capacity at a read share.
func (m *Model) inverseCapacity(share float64) float64 {
	low, high, part := m.slowness.bracket(share)
	straight := low.value + part*(high.value-low.value)
	return straight * (1 + m.bend*(high.share-low.share)*(high.share-low.share)*part*(1-part))
}

// growth returns the factor of ρ ÷ (1 − ρ).
func (m *Model) growth(writeShare float64) float64 { return m.queue + m.writeQueue*writeShare }

func (f flow) writeShare() float64 {
	if f.total() <= 0 {
		return 0
	}
	return f.write / f.total()
}

// delayAt returns the delay at load ρ.
func (m *Model) delayAt(load, writeShare float64) float64 {
	load = min(load, fullest)
	return 1 + m.linear*load + m.growth(writeShare)*load/(1-load)
}

// delay returns the delay beside nobody else.
func (m *Model) delay(f flow) float64 { return m.delayAt(m.load(f), f.writeShare()) }

// loadOf is the inverse of delayAt: the root between 0 and fullest of
//
//	linear·ρ² − (linear + growth + delay − 1)·ρ + delay − 1 = 0
func (m *Model) loadOf(delay, writeShare float64) float64 {
	excess := max(delay-1, 0)
	b := m.linear + m.growth(writeShare) + excess
	if b <= 0 {
		return 0
	}
	// The smaller root, in the form that does not cancel.
	root := 2 * excess / (b + math.Sqrt(max(b*b-4*m.linear*excess, 0)))
	return min(root, fullest)
}

// Capacity returns the most traffic that the memory carries at a read share.
func (m *Model) Capacity(share units.ReadShare) units.Bandwidth {
	return m.unit / units.Bandwidth(m.inverseCapacity(float64(share)))
}

// Narrower returns the model of a memory that carries so many times less at every read
// share.
func (m *Model) Narrower(factor float64) *Model {
	narrower := *m
	narrower.slowness = make(line, len(m.slowness))
	for i, n := range m.slowness {
		narrower.slowness[i] = node{n.share, n.value * factor}
	}
	return &narrower
}

// Numbers are the parameters from which a Model computes loads and delays.
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
	// Link is that of all co-runners; absent where they do not share one.
	Link *LinkNumbers `json:"link,omitempty"`
}

// Numbers returns those of m.
func (m *Model) Numbers() Numbers {
	s := Numbers{Unit: m.unit, Bend: m.bend, Linear: m.linear, Queue: m.queue, WriteQueue: m.writeQueue}
	for _, n := range m.slowness {
		s.Slowness = append(s.Slowness, [2]float64{n.share, n.value})
	}
	if m.link.kind == LinkShared {
		s.Link = &LinkNumbers{m.link.capacity, m.link.write, m.link.queue}
	}
	return s
}

// line is a quantity by read share: nodes in order of share, at least one.
type line []node

// node is a quantity at a read share.
type node struct{ share, value float64 }

// bracket returns the nodes around a share and how far it lies from the lower to
// the upper one, 0 to 1. Beyond the nodes both are the nearest one.
func (l line) bracket(share float64) (low, high node, part float64) {
	last := len(l) - 1
	switch {
	case !(share > l[0].share):
		return l[0], l[0], 0
	case share >= l[last].share:
		return l[last], l[last], 0
	}
	i := 0
	for l[i+1].share <= share {
		i++
	}
	return l[i], l[i+1], (share - l[i].share) / (l[i+1].share - l[i].share)
}

// at returns the quantity at a share, by linear interpolation.
func (l line) at(share float64) float64 {
	low, high, part := l.bracket(share)
	return low.value + part*(high.value-low.value)
}
