package memory

import "bandmate.dev/bandmate/units"

// Bounds of Solve.
const (
	solveSteps = 24
	solveClose = 1e-6
)

// Solve finds the delay at which the members' traffic equals what the memory then carries,
// stores their performances, and returns the delay. The load of the members falls with the
// delay, while the load that causes it rises, so the difference changes its sign once.
// Regula falsi in the form of Anderson and Björck (BIT 13, 1973) finds it.
func (m *Model) Solve(members []Member, performances []units.NormalizedPerformance) float64 {
	var alone flow
	for i := range members {
		alone.read += members[i].alone.read
		alone.write += members[i].alone.write
	}
	reference := alone.writeShare()
	excess := func(x float64) (off, delay float64) {
		delay = m.delayAt(x, reference)
		var sum flow
		for i := range members {
			p := members[i].performance(delay)
			performances[i] = units.NormalizedPerformance(p)
			sum.read += members[i].alone.read * p
			sum.write += members[i].alone.write * p
		}
		return m.load(sum) - m.loadOf(delay, sum.writeShare()), delay
	}
	low, above := 0.0, m.load(alone)
	if above <= 0 {
		_, delay := excess(low)
		return delay
	}
	high := min(above, fullest)
	below, delay := excess(high)
	if below >= -solveClose && high < fullest {
		if below <= solveClose {
			return delay
		}
		// Reads and writes are slowed down by different amounts.
		low, above, high = high, below, fullest
		below, delay = excess(high)
	}
	if below >= 0 {
		return delay
	}
	side := 0
	for range solveSteps {
		x := (low*below - high*above) / (below - above)
		var off float64
		off, delay = excess(x)
		switch {
		case off > solveClose:
			if side > 0 {
				below *= shrink(off / above)
			}
			low, above = x, off
			side = 1
		case off < -solveClose:
			if side < 0 {
				above *= shrink(off / below)
			}
			high, below = x, off
			side = -1
		default:
			return delay
		}
	}
	return delay
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
