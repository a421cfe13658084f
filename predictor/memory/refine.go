package memory

import "math"

// Bounds of refine.
const (
	refineSteps  = 12
	refineEnough = 1e-12 // relative gain below which it ends
	longestExtra = 0.3   // of a step of Loop.extra
)

// refine descends from the loop of a run, in its requests in flight and its weight, as
// fit.descend does for all runs at once.
func (m *Model) refine(r *run) {
	residuals := func(inFlight, extra float64) []float64 {
		r.loop.inFlight, r.loop.extra = math.Exp(inFlight), max(extra, leastExtra)
		return m.residualsOf(r)
	}
	x, y := math.Log(r.loop.inFlight), r.loop.extra
	now := residuals(x, y)
	left := sum(now)
	damping := 1e-2
	for gained := true; gained && damping < mostDamping; {
		gained = false
		dx, dy := residuals(x+nudge, y), residuals(x, y+nudge)
		var xx, xy, yy, gx, gy float64
		for i := range now {
			u, v := (dx[i]-now[i])/nudge, (dy[i]-now[i])/nudge
			xx, xy, yy = xx+u*u, xy+u*v, yy+v*v
			gx, gy = gx+u*now[i], gy+v*now[i]
		}
		for range refineSteps {
			p, q := xx*(1+damping)+1e-12, yy*(1+damping)+1e-12
			determinant := p*q - xy*xy
			stepX := min(max((q*gx-xy*gy)/determinant, -longestStep), longestStep)
			stepY := min(max((p*gy-xy*gx)/determinant, -longestExtra), longestExtra)
			tried := residuals(x-stepX, y-stepY)
			if less := sum(tried); less < left {
				gained = less < left*(1-refineEnough)
				x, y, now, left = x-stepX, max(y-stepY, leastExtra), tried, less
				damping = max(damping/5, 1e-6)
				break
			}
			damping *= 4
		}
	}
	r.loop.inFlight, r.loop.extra = math.Exp(x), y
	r.place(m)
}

// sum returns the sum of squares.
func sum(residuals []float64) (sum float64) {
	for _, r := range residuals {
		sum += r * r
	}
	return sum
}
