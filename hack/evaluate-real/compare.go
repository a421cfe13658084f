package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

const (
	// repeats is how often a program is measured by each way, and modulatedBudget
	// the time of one modulated measurement.
	repeats         = 5
	modulatedBudget = 3 * time.Second
	// mostTries bounds the pairs of whole runs for each repeat: until one was in the
	// wanted placement.
	mostTries = 6
)

// strong is the pressure of the comparison.
var strong = pressure.Pressure{ReadShare: 0.5, Level: 1, Pattern: interferer.Sequential}

// notCompared are samples for which there is no time.
var notCompared = []string{"radix-sort", "stencil", "conjugate-gradient"}

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
	measured, err := e.session.MeasurePressures(ctx, []pressure.Pressure{strong})
	if err != nil {
		return err
	}
	cost, err := ticks.CallCost()
	if err != nil {
		e.log("what a counted call costs is not known: %v", err)
	}
	for _, a := range all {
		if slices.Contains(notCompared, a.Application.Name) {
			continue
		}
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
		err := e.compareOne(ctx, m, a, measured[0], class, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			e.log("%s: %v", c.Name, err)
			continue
		}
		c.CallSeconds = cost.Seconds()
		if err := e.save(comparedPrefix+c.Name, c); err != nil {
			return err
		}
	}
	return nil
}

// compareOne measures a program by both ways in turns.
func (e *trial) compareOne(ctx context.Context, m *onboard.Modulator, a onboard.Counted, p pressure.Measured, class regime.Class, c *comparison) error {
	for range repeats {
		if err := e.compareWhole(ctx, m, a.Application, p, class, c); err != nil {
			return err
		}
		begin := time.Now()
		o, err := m.Pressed(ctx, a, p, onboard.Wanted{
			Class: class, Budget: modulatedBudget, Precision: modulation.Precision{StandardError: 1e-4, Fewest: 2, Most: 10_000},
		})
		if err != nil {
			return err
		}
		c.ModulatedSeconds += time.Since(begin).Seconds() / repeats
		c.Calls = calls(a, o.Readings[class])
		if r, ok := onboard.PressedResult(e.session, o, class, a.Application, strong); ok && r.Repeats > 1 {
			c.Modulated = append(c.Modulated, result{Performance: float64(r.NormalizedPerformance), StandardError: r.StandardError, Readings: r.Repeats})
		}
	}
	c.WholeSeconds /= float64(max(len(c.Whole), 1))
	return nil
}

// compareWhole adds a pair of whole runs in the placement regime. Those in others take
// time and say nothing: a co-runner may cost much in one and nothing in the next.
func (e *trial) compareWhole(ctx context.Context, m *onboard.Modulator, a onboard.Application, p pressure.Measured, class regime.Class, c *comparison) error {
	for range mostTries {
		alone, pressed, in, err := m.WholeRuns(ctx, a, p)
		if err != nil {
			return err
		}
		c.Tries++
		c.WholeSeconds += (alone + pressed).Seconds()
		if in == class {
			c.Whole = append(c.Whole, result{Performance: alone.Seconds() / pressed.Seconds()})
			return nil
		}
	}
	return nil
}

// calls returns how many calls of a function per second are counted while the
// program runs alone.
func calls(c onboard.Counted, readings map[string][]modulation.Reading) float64 {
	if _, isFunction := c.Source.(ticks.Function); !isFunction {
		return 0
	}
	if c.Equal != nil {
		n := len(c.Equal.Counts) - 1
		return (c.Equal.Counts[n] - c.Equal.Counts[0]) / c.Equal.Length()
	}
	var rates []float64
	for name, list := range readings {
		if !strings.HasPrefix(name, c.Application.Name+" ") {
			continue
		}
		for _, r := range list {
			rates = append(rates, r.Alone)
		}
	}
	return stats.Median(rates)
}
