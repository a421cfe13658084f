package memory

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// Bounds of crossing.
const (
	solveSteps  = 24
	bisectSteps = 40
	solveClose  = 1e-9
)

// crossing returns where f, which falls from above > 0 at low to below < 0 at high, is
// within solveClose of 0. Regula falsi in the form of Anderson and Björck (BIT 13, 1973)
// finds it, bisection where that is slow.
func crossing(low, above, high, below float64, f func(float64) float64) float64 {
	side := 0
	x := high
	for step := range solveSteps + bisectSteps {
		x = (low*below - high*above) / (below - above)
		if step >= solveSteps {
			x = (low + high) / 2
		}
		switch off := f(x); {
		case off > solveClose:
			if side > 0 {
				below *= shrink(off / above)
			}
			low, above, side = x, off, 1
		case off < -solveClose:
			if side < 0 {
				above *= shrink(off / below)
			}
			high, below, side = x, off, -1
		default:
			return x
		}
	}
	return x
}

// shrink is by how much the value at the end that stays is reduced when the other
// end has moved twice, to ratio of its value: as a parabola through the three has
// it, or by half where that would leave nothing.
func shrink(ratio float64) float64 {
	if ratio < 1 {
		return 1 - ratio
	}
	return 0.5
}

// Solve finds the delay at which the members' traffic equals what the memory then carries,
// and stores their performances. The load of the members falls with the delay, while the
// load that causes it rises, so the difference changes its sign once. Solve returns the
// delay, and by how much the load of the members then exceeds that of the delay: about 0
// unless the members ask for more than the memory can ever carry.
func (m *Model) Solve(members []Member, performances []units.NormalizedPerformance) (delay, excess float64) {
	var alone flow
	for i := range members {
		alone = alone.add(members[i].moves(1))
	}
	reference := alone.writeShare()
	off := func(x float64) float64 {
		delay = m.delayAt(x, reference)
		wait := m.linkWait(members, delay)
		var sum flow
		for i := range members {
			p := members[i].beside(delay, wait)
			performances[i] = units.NormalizedPerformance(p)
			sum = sum.add(members[i].moves(p))
		}
		excess = m.load(sum) - m.loadOf(delay, sum.writeShare())
		return excess
	}
	low, above := 0.0, m.load(alone)
	if above <= 0 {
		off(low)
		return delay, excess
	}
	high := min(above, fullest)
	below := off(high)
	if below > solveClose && high < fullest {
		// Reads and writes are slowed down by different amounts.
		low, above, high = high, below, fullest
		below = off(high)
	}
	if below < -solveClose {
		crossing(low, above, high, below, off)
	}
	return delay, excess
}

// linkWait returns the wait for a shared link at a delay of the memory: that at which
// the link carries what the members who come over it then transfer.
func (m *Model) linkWait(members []Member, delay float64) float64 {
	if m.link.kind != LinkShared {
		return 0
	}
	off := func(use float64) float64 {
		wait, sum := m.link.wait(use), -use
		for i := range members {
			if x := &members[i]; x.use > 0 {
				sum += x.use * x.performance(delay+wait)
			}
		}
		return sum
	}
	above := off(0)
	if above <= solveClose {
		return 0
	}
	high := min(above, fullest)
	below := off(high)
	if below >= -solveClose {
		if high < fullest {
			return m.link.wait(high)
		}
		return m.fullLinkWait(members, delay)
	}
	return m.link.wait(crossing(0, above, high, below, off))
}

// fullLinkWait returns the wait for a shared link that is full: so long that the members who
// come over it transfer no more than it carries, however many they are.
func (m *Model) fullLinkWait(members []Member, delay float64) float64 {
	off := func(wait float64) float64 {
		sum := -fullest
		for i := range members {
			if x := &members[i]; x.use > 0 {
				sum += x.use * x.performance(delay+wait)
			}
		}
		return sum
	}
	low := m.link.wait(fullest)
	above := off(low)
	for range doublings {
		if above <= solveClose {
			break
		}
		high := 2 * low
		below := off(high)
		if below < -solveClose {
			return crossing(low, above, high, below, off)
		}
		low, above = high, below
	}
	return low
}

// doublings bound the search for the wait for a full link.
const doublings = 40

// beside returns the performance at a delay of the memory and a wait for a shared link.
func (x *Member) beside(delay, wait float64) float64 {
	if x.use > 0 {
		delay += wait
	}
	return x.performance(delay)
}

// Close reports whether an excess that Solve returned is that of a solution.
func Close(excess float64) bool { return math.Abs(excess) <= 1e4*solveClose }
