package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// Bounds of the extrapolation.
const (
	// headroom is the assumed capacity of the memory ÷ the most that any of the
	// applications was seen to share with the interferer. The two simulated platforms
	// would choose 1.15 and 1.02 for their groups; curves continued from their lower
	// halves choose 1 to 1.05.
	headroom = 1.05
	// fullest is the highest load that the queue is evaluated at: closed loops
	// of requests do not let a queue grow without end.
	fullest = 0.97
)

// capacityOf estimates from the profiles alone what the memory can carry: the highest
// traffic of an application and the interferer together that any profile recorded, or
// the highest that either reached alone, times headroom.
func capacityOf(apps []*Application) units.Bandwidth {
	var most units.Bandwidth
	for _, a := range apps {
		most = max(most, a.observedCapacity(), a.corunner.Total())
	}
	return most * headroom
}

// observedCapacity returns the highest traffic that the memory was seen to carry
// with a.
func (a *Application) observedCapacity() units.Bandwidth {
	return max(a.mostBesideInterferer, a.target.Total())
}

// compileObserved sets what application and interferer transferred together.
func (a *Application) compileObserved() {
	a.mostBesideInterferer = a.capacity
	for i := range a.responses {
		r := &a.responses[i]
		_, alone := r.performance.Domain()
		a.mostBesideInterferer = max(a.mostBesideInterferer, alone)
		for _, k := range r.knots {
			own := a.target.Total() * units.Bandwidth(r.performance.At(k.solo))
			a.mostBesideInterferer = max(a.mostBesideInterferer, own+k.achieved)
		}
	}
}

// extrapolate continues a curve beyond its highest measured pressure, where one
// interferer could push no harder but several neighbors can. The memory is
// taken as a queue: waiting grows as W(U) = U ÷ (capacity − U) with the total
// traffic U, the application's own included, and its time by
//
//	1/p = (1 + s·W(own·p + others)) ÷ (1 + s·W(own))
//
// where s is chosen so that the curve passes through its highest point (top,
// measured). An application that slows down faster than any s explains is
// bound by bandwidth: 1/p then grows as W itself. This is not in the paper; one
// interferer's curve says nothing there, and the prediction is marked.
func (a *Application) extrapolate(
	measured units.NormalizedPerformance, top, others, capacity units.Bandwidth,
) units.NormalizedPerformance {
	if capacity <= 0 {
		return measured
	}
	own := a.target.Total()
	waiting := func(p units.NormalizedPerformance, others units.Bandwidth) units.NormalizedPerformance {
		load := min((own*units.Bandwidth(p)+others)/capacity, fullest)
		return units.NormalizedPerformance(load / (1 - load))
	}
	alone, atTop := waiting(1, 0), waiting(measured, top)
	slower := 1/measured - 1
	explained := atTop - alone/measured
	at := func(p units.NormalizedPerformance) units.NormalizedPerformance {
		now := waiting(p, others)
		if explained <= slower*1e-3 {
			return measured * atTop / now
		}
		s := slower / explained
		return measured * (1 + s*atTop) / (1 + s*now)
	}
	// at falls as p rises (the more a transfers, the longer all wait), so that
	// at(p) − p changes its sign once, between 0 and measured.
	return max(fixedPoint(at, 0, measured), curves.Floor)
}
