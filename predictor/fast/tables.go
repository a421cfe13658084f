package fast

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
)

// Tables are a Model as plain numbers, by which the formulas of this package can
// be computed elsewhere.
type Tables struct {
	// Top is the highest measured pressure in bytes per second; 0 without curves.
	Top float32
	// Traffic is the traffic table: the first column and the second at each step.
	Traffic []float32
	// Memory is the model of the memory; nil without one, and without delay tables.
	Memory *memory.Model
	// Target and Corunner are the delay tables by role: read flow, write flow and
	// slowdown less 1 by column, at each delay. Corunner is nil where it is Target.
	Target, Corunner []float32
}

// Tables returns the numbers of m.
func (m *Model) Tables() Tables {
	t := Tables{Top: m.top}
	for _, row := range m.performance {
		t.Traffic = append(t.Traffic, row[:]...)
	}
	if m.delay == nil {
		return t
	}
	t.Memory, t.Target = m.delay.Model, flattened(m.delay.Target)
	if m.delay.Corunner != m.delay.Target {
		t.Corunner = flattened(m.delay.Corunner)
	}
	return t
}

func flattened(r *predictor.RoleTable) []float32 {
	var numbers []float32
	for place, flow := range r.Flow {
		numbers = append(numbers, flow.Read, flow.Write, r.Excess[0][place], r.Excess[1][place])
	}
	return numbers
}
