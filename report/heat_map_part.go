package report

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/units"
)

// Busiest returns a map of the n applications that suffer or cause the most, in
// their order, and how many were left out. Rows and columns must be the same
// applications. An unknown slowdown counts as none.
func (m *HeatMap) Busiest(n int) (part *HeatMap, left int) {
	if n <= 0 || n >= len(m.Targets) {
		return m, 0
	}
	weights := make([]float64, len(m.Targets))
	for i := range m.Targets {
		for j := range m.Corunners {
			if s := float64(m.Slowdown(i, j)); s > 1 && !math.IsInf(s, 0) {
				weights[i] += s - 1
				weights[j] += s - 1
			}
		}
	}
	chosen := make([]int, len(weights))
	for i := range chosen {
		chosen[i] = i
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	chosen = chosen[:n]
	slices.Sort(chosen)
	part = &HeatMap{Slowdown: func(i, j int) units.Slowdown { return m.Slowdown(chosen[i], chosen[j]) }}
	for _, i := range chosen {
		part.Targets = append(part.Targets, m.Targets[i])
		part.Corunners = append(part.Corunners, m.Corunners[i])
	}
	return part, len(m.Targets) - n
}
