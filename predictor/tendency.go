package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Tendency is an application by the delay of a memory that a Calibration describes,
// at the places of memory.Tendency and at its mean over the run: what thousands of
// groups can be estimated from, each in nanoseconds. It is immutable and safe for
// concurrent use.
type Tendency struct {
	// Model is of the memory; tendencies of different ones do not go together.
	Model *memory.Model
	// Target and Corunner are the application where it stands as either.
	Target, Corunner *Standing
}

// Standing is an application at a distance from the memory.
type Standing struct {
	// Flow is what it transfers.
	Flow [memory.Delays]memory.Flow
	// Excess is its slowdown less 1, corrected by its curves, beside others that
	// read half of the time, and beside others that read only.
	Excess [2][memory.Delays]float32
}

// Tendency returns the application by the delay of a memory; nil where no model
// describes it. An application without curves has one only where Described.
func (a *Application) Tendency() *Tendency {
	if a.calibrated == nil {
		return nil
	}
	t := &Tendency{Model: a.calibrated.model}
	t.Corunner = a.standing(t.Model.Tendency(&a.calibrated.steadyAway))
	t.Target = t.Corunner
	if a.slowerAway != 1 || a.target != a.corunner {
		t.Target = a.standing(t.Model.Tendency(&a.calibrated.steadyHome))
	}
	return t
}

func (a *Application) standing(t *memory.Tendency) *Standing {
	s := &Standing{Flow: t.Flow}
	for column, share := range quickShares {
		others := units.TrafficOf(1, share)
		for place, p := range t.Performance {
			corrected := min(max(a.corrected(float64(p), others), curves.Floor), 1)
			s.Excess[column][place] = float32(corrected.Slowdown()) - 1
		}
	}
	return s
}
