package predictor

import (
	"fmt"

	"bandmate.dev/bandmate/internal/plain"
)

// MarshalBinary returns c in a form that UnmarshalBinary of the same program reads.
func (c *Calibration) MarshalBinary() ([]byte, error) { return plain.Marshal(c) }

// UnmarshalBinary sets c to what MarshalBinary of the same program wrote. c must be new.
func (c *Calibration) UnmarshalBinary(data []byte) error {
	if err := plain.Unmarshal(data, c); err != nil {
		return err
	}
	if c.model == nil {
		return fmt.Errorf("calibration: %w: no model", plain.ErrDamaged)
	}
	return nil
}

// State returns what Apply found out about a, for Restore.
func (c *Calibration) State(a *Application) ([]byte, error) {
	if a.calibrated == nil || a.calibrated.model != c.model {
		return nil, fmt.Errorf("%s: %w", a.name, ErrNotCalibrated)
	}
	state := *a.calibrated
	state.model, state.lastLevel = nil, nil
	if state.shared != nil {
		shared := *state.shared
		shared.model = nil
		state.shared = &shared
	}
	return plain.Marshal(&state)
}

// Restore is Apply with the State of the same application in the same calibration, which
// saves the time of a fit.
func (c *Calibration) Restore(a *Application, state []byte) (*Application, error) {
	_, missing := a.source()
	if _, cached := a.cacheSource(); missing != "" && !(cached && c.lastLevel != nil) {
		return nil, fmt.Errorf("%s: %w", a.name, ErrNotCalibrated)
	}
	restored := *a
	restored.calibrated = &calibrated{}
	if err := plain.Unmarshal(state, restored.calibrated); err != nil {
		return nil, err
	}
	restored.calibrated.model = c.model
	if shared := restored.calibrated.shared; shared != nil {
		shared.model = c.shared
	}
	if restored.calibrated.cached != nil {
		restored.calibrated.lastLevel = c.lastLevel
	}
	return &restored, nil
}
