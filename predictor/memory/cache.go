package memory

import "bandmate.dev/bandmate/units"

// Cached returns a loop whose traffic per unit of work depends on what it holds of a shared
// cache, for Missing. most is its traffic at full speed if nothing hits, alone the part of
// that which it transfers alone, and hit the delay of a hit.
func (m *Model) Cached(most units.Traffic, alone, hit float64, l Loop) Member {
	x := Member{alone: m.flow(most), loop: l}
	total := x.alone.total()
	if total <= 0 {
		return x
	}
	x.time = 1 / total
	x.delay = m.delay(x.alone.scale(alone * x.weight()))
	if inFlight := l.inFlight * x.time; alone*(x.delay-hit) > inFlight {
		x.delay = max(inFlight/alone+hit, 1) // by Little's law, as in divide
	}
	x.memory = min((x.delay-hit)/l.inFlight, x.time/max(alone, 1e-12))
	x.compute = max(power(x.time, l.overlap)-power(alone*x.memory, l.overlap), 0)
	return x
}

// Missing returns a member that Cached returned where it transfers a part of the most that
// it can per unit of work.
func (x Member) Missing(part float64) Member {
	x.grown = part - 1
	return x
}

// Interferers returns interferers that stream, as one member, by what they transfer alone.
func (m *Model) Interferers(alone units.Traffic, interferers int) Member {
	f := m.flow(alone)
	return m.interferers(sample{share: f.read / f.total(), solo: f.total(), interferers: float64(max(interferers, 1))})
}

// Paced returns an interferer as Cached does that is paced as the streaming one is.
func (m *Model) Paced(most units.Traffic, alone, inFlight, extra float64) Member {
	return m.Cached(most, alone, 0, Loop{inFlight, m.interferer.overlap, extra})
}

// Relative returns a bandwidth in the units of the model.
func (m *Model) Relative(b units.Bandwidth) float64 { return float64(b / m.unit) }

// InFlight returns the traffic that a loop keeps in flight that transfers so much alone and
// does nothing else (Little, Operations Research 9(3), 1961). extra is what its traffic
// weighs more in the memory.
func (m *Model) InFlight(alone units.Traffic, extra float64) float64 {
	f := m.flow(alone)
	return f.total() * m.delay(f.scale(1+extra))
}

// NewLoop returns a loop by the traffic that it keeps in flight, relative to the unit of the
// model × the delay without load, how well it computes meanwhile (1, 2 or 4), and how much
// more of the memory its traffic takes than that of the interferer, relative.
func NewLoop(inFlight, overlap, extra float64) Loop {
	return Loop{inFlight, overlap, max(extra, leastExtra)}
}

// Overlaps returns the values of the overlap of a loop.
func Overlaps() []float64 { return overlaps[:] }

// Performance returns the performance of the member at a delay of the memory.
func (x *Member) Performance(delay float64) float64 { return x.performance(delay) }

// TrafficOf returns what a member transfers at a performance.
func (m *Model) TrafficOf(x *Member, performance float64) units.Traffic {
	f := x.alone.scale(performance * (1 + x.grown))
	return units.Traffic{Read: m.unit * units.Bandwidth(f.read), Write: m.unit * units.Bandwidth(f.write)}
}

// Numbers returns what NewLoop was given.
func (l Loop) Numbers() (inFlight, overlap, extra float64) { return l.inFlight, l.overlap, l.extra }
