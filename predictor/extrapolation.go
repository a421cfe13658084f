package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// Bounds of the extrapolation.
const (
	// headroom is the assumed ÷ the observed capacity of the memory. The groups of the
	// two simulated platforms fit 1.15 and 1.02 best; curves continued from their lower
	// halves fit 1 to 1.05.
	headroom = 1.05
	// fullest is the highest load that the queue is evaluated at: closed loops
	// of requests do not let a queue grow without end.
	fullest = 0.97
)

// capacityOf estimates the capacity of the memory from the profiles alone: the highest
// recorded traffic of an application, the interferer or both, times headroom.
func capacityOf(apps []*Application) units.Bandwidth {
	var most units.Bandwidth
	for _, a := range apps {
		most = max(most, a.observedCapacity(), a.corunner.Total())
	}
	return most * headroom
}

// observedCapacity returns the highest recorded traffic of a and the interferer.
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

// extrapolate continues a curve beyond its highest measured pressure. The memory is a
// queue whose waiting time grows as W(U) = U ÷ (capacity − U) with the total traffic U,
//
//	1/p = (1 + s·W(own·p + others)) ÷ (1 + s·W(own))
//
// where s makes the curve pass through its highest point (top, measured). An application
// that slows down faster than any s explains is bound by bandwidth: 1/p then grows as W.
// This is not in the paper.
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
