package main

import (
	"context"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
)

const (
	// repeats is how often a program is measured by each way, and modulatedBudget
	// the time of one modulated measurement.
	repeats         = 5
	modulatedBudget = 1500 * time.Millisecond
)

// strong is the pressure of the comparison.
var strong = onboard.Pressure{ReadShare: 0.5, Level: 1, Pattern: interferer.Sequential}

// compareWholeRuns measures each program beside a strong pressure: whole runs and
// modulation take turns.
func (e *trial) compareWholeRuns(ctx context.Context, m *onboard.Modulator) error {
	_, class, err := e.machine(ctx)
	if err != nil {
		return err
	}
	all, err := e.learned()
	if err != nil {
		return err
	}
	measured, err := e.session.MeasurePressures(ctx, []onboard.Pressure{strong})
	if err != nil {
		return err
	}
	for _, a := range all {
		c := &comparison{Name: a.Application.Name, Pressure: strong.String()}
		if known, err := e.load(comparedPrefix+c.Name, c); err != nil || known {
			if err != nil {
				return err
			}
			continue
		}
		if time.Now().After(e.until) {
			return nil
		}
		for range repeats {
			alone, pressed, err := m.WholeRuns(ctx, a.Application, measured[0])
			if err != nil {
				return err
			}
			c.Whole = append(c.Whole, result{Performance: alone.Seconds() / pressed.Seconds()})
			c.WholeSeconds += (alone + pressed).Seconds() / repeats
			begin := time.Now()
			o, err := m.Pressed(ctx, a, measured[0], onboard.Wanted{
				Class: class, Budget: modulatedBudget, Precision: modulation.Precision{StandardError: 1e-4, Fewest: 2, Most: 10_000},
			})
			if err != nil {
				return err
			}
			c.ModulatedSeconds += time.Since(begin).Seconds() / repeats
			if r, ok := e.session.PressedResult(o, class, a.Application, strong); ok {
				c.Modulated = append(c.Modulated, result{Performance: float64(r.NormalizedPerformance), StandardError: r.StandardError, Readings: r.Repeats})
			}
		}
		if err := e.save(comparedPrefix+c.Name, c); err != nil {
			return err
		}
	}
	return nil
}
