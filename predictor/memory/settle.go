package memory

// Bounds of Settle.
const (
	settleSteps = 24
	settleClose = 1e-6
)

// Settle finds the delay at which the members ask for as much as the memory then
// carries, writes their performances, and returns the delay. Performance falls
// with the delay and the load with it, while the load that causes a delay rises:
// the difference changes its sign once, and the search (regula falsi in the
// Illinois form, Dowell and Jarratt, BIT 11, 1971) finds it.
func (m *Model) Settle(members []Member, performances []float64) float64 {
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
			performances[i] = p
			sum.read += members[i].alone.read * p
			sum.write += members[i].alone.write * p
		}
		return m.load(sum) - m.loadOf(delay, sum.writeShare()), delay
	}
	low, high := 0.0, fullest
	above, delay := excess(low)
	if above <= 0 {
		return delay
	}
	below, delay := excess(high)
	if below >= 0 {
		return delay
	}
	side := 0
	for range settleSteps {
		x := (low*below - high*above) / (below - above)
		var off float64
		off, delay = excess(x)
		switch {
		case off > settleClose:
			low, above = x, off
			if side > 0 {
				below /= 2
			}
			side = 1
		case off < -settleClose:
			high, below = x, off
			if side < 0 {
				above /= 2
			}
			side = -1
		default:
			return delay
		}
	}
	return delay
}
