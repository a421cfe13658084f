package predictor

import "bandmate.dev/bandmate/units"

// HighestPressure returns the highest traffic that the application was measured
// beside: what the interferer transferred where that was recorded, else what it
// reaches alone. Zero without curves. Beyond it predictions are extrapolated.
func (a *Application) HighestPressure() units.Bandwidth {
	var highest units.Bandwidth
	for i := range a.responses {
		steps := a.responses[i].steps
		highest = max(highest, steps[len(steps)-1].actual)
	}
	return highest
}
