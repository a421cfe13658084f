package onboard

import (
	"context"
	"errors"
	"testing"
)

// made is an occupancy of made-up readings; below 0 one has no value.
type made struct {
	readings []float64
	err      error
	read     int
	closed   bool
}

func (m *made) Bytes() (float64, bool, error) {
	b := m.readings[m.read%len(m.readings)]
	m.read++
	return b, b >= 0, m.err
}

func (m *made) Close() error {
	m.closed = true
	return nil
}

func TestMeanOccupancy(t *testing.T) {
	got, err := meanOccupancy(t.Context(), &made{readings: []float64{1e6, 2e6, 3e6, 4e6, 5e6}}, 0)
	if err != nil || got == nil || *got != 3e6 {
		t.Errorf("%v, %v, want 3e6", got, err)
	}
	if got, err := meanOccupancy(t.Context(), &made{readings: []float64{1e6, -1}}, 0); err != nil || got != nil {
		t.Errorf("without a value: %v, %v", got, err)
	}
	failed := errors.New("the hardware reports an error")
	if got, err := meanOccupancy(t.Context(), &made{readings: []float64{1e6}, err: failed}, 0); !errors.Is(err, failed) || got != nil {
		t.Errorf("a failure: %v, %v", got, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := meanOccupancy(over, &made{readings: []float64{1e6}}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
