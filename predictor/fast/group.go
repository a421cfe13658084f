package fast

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// groupSteps is the number of steps towards the fixed point of a group by traffic
// tables; each halves what is left.
const groupSteps = 16

// Group appends to dst the normalized performance of each of models beside all
// others, the first as the target, by the delay tables where they share a memory
// and else by the traffic tables. What they exchange with each other over a network
// is left out.
func Group(dst []units.NormalizedPerformance, models []*Model) []units.NormalizedPerformance {
	residents := make([]Resident, 0, len(models))
	for _, m := range models {
		residents = append(residents, Resident{Model: m})
	}
	shared := sharedMemory(residents)
	if shared == nil {
		for _, p := range fixedPoint(models) {
			dst = append(dst, units.NormalizedPerformance(p))
		}
		return dst
	}
	var sum sums
	for _, m := range models[1:] {
		m.addFlows(&sum, shared, m.corunner())
	}
	behind := newBehind(shared, &sum)
	models[0].addFlows(&sum, shared, models[0].target())
	at := solve(shared, 0, &sum, flows{})
	column := predictor.Column(shared.Traffic(at.flow(&sum)))
	role := (*Model).target
	for _, m := range models {
		p := units.NormalizedPerformance(1)
		if table := role(m); table != nil && len(models) > 1 {
			p = 1 / (1 + units.NormalizedPerformance(at.excess(table, column)))
		}
		dst = append(dst, p)
		if role = (*Model).corunner; len(dst) == 1 {
			at = behind.at(at)
		}
	}
	return dst
}

// fixedPoint solves a group by its traffic tables.
func fixedPoint(models []*Model) []float32 {
	performance := make([]float32, len(models))
	var sum units.Traffic
	for i, m := range models {
		performance[i] = 1
		sum = sum.Add(m.alone)
	}
	for range groupSteps {
		for i, m := range models {
			own := m.alone.Scale(float64(performance[i]))
			others := units.Traffic{Read: max(sum.Read-own.Read, 0), Write: max(sum.Write-own.Write, 0)}
			performance[i] = (performance[i] + m.beside(float32(others.Total()), predictor.Column(others))) / 2
			sum = others.Add(m.alone.Scale(float64(performance[i])))
		}
	}
	return performance
}
