package predictor

import "bandmate.dev/bandmate/units"

// evidenceMargin is how far a prediction by the model of the memory may lie outside what
// the curves say, in normalized performance. Phases that meet, and a co-runner that gives
// way less than the interferer, explain some points.
const evidenceMargin = 0.1

// held returns a performance held to the curves of application i: not far below what they
// say beside the most traffic that the others can cause, nor far above what they say
// beside the least, or beside the highest measured pressure if that is lower. Curves that were
// measured in another role hold nothing, and pressures that were not measured say nothing of
// the lowest performance.
func (s *modelSolver) held(i int, p units.NormalizedPerformance) units.NormalizedPerformance {
	a := s.apps[i]
	if a.family == nil || !a.achievedKnown || !s.atHome(i) && a.slowerAway != 1 {
		return p
	}
	var least, most units.Traffic
	for j, other := range s.apps {
		if j == i {
			continue
		}
		alone := other.corunner
		if s.atHome(j) {
			alone = other.target
		}
		least = least.Add(alone.Scale(min(s.rates[j], other.lowest())))
		most = most.Add(alone.Scale(other.peak()))
	}
	if read := a.respond(most, capacityOf(s.apps)); read.beyond == 0 {
		p = max(p, read.performance-evidenceMargin)
	}
	return min(p, a.respond(least, capacityOf(s.apps)).measured+evidenceMargin)
}

// lowest returns the lowest performance that a was measured at; 1 without curves.
func (a *Application) lowest() float64 {
	lowest := units.NormalizedPerformance(1)
	for i := range a.responses {
		lowest = min(lowest, a.responses[i].at(a.responses[i].top()))
	}
	return float64(lowest)
}

// peak returns the traffic of the busiest phase ÷ the mean.
func (a *Application) peak() float64 {
	peak := 1.0
	for i := range a.phases {
		peak = max(peak, a.phases[i].total)
	}
	return peak
}
