package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Counted is an application with what counts its work.
type Counted struct {
	Application Application
	Source      ticks.Source
	// Steps is how often the count grows alone, per second.
	Steps float64
	// Slicing is that of its measurement under pressure; zero where there was none.
	Slicing modulation.Slicing
	// Equal makes the ticks equal; nil leaves them as they are.
	Equal *modulation.Trajectory
}

// Modulator measures applications whose ticks are known, beside each other and
// beside pressures. Close it.
type Modulator struct{ stage *bench.Stage }

// OpenModulator starts what modulation needs beside the session.
func OpenModulator(ctx context.Context, s *bench.Session) (*Modulator, error) {
	g, err := s.OpenStage(ctx)
	if err != nil {
		return nil, err
	}
	return &Modulator{g}, nil
}

// Close ends what OpenModulator started.
func (m *Modulator) Close() error { return m.stage.Close() }

// Wanted says how precisely a [Modulator] measures.
type Wanted struct {
	// Class is the only placement regime that counts; empty for any.
	Class     regime.Class
	Precision modulation.Precision
	// Budget bounds the time; 0 means none.
	Budget time.Duration
	// Outcome is what was measured before of the same; nil for nothing.
	Outcome *modulation.Outcome
}

// Pair measures two applications beside each other, each compared with itself
// alone. CorunResult reads the outcome.
func (m *Modulator) Pair(ctx context.Context, first, second Counted, w Wanted) (outcome *modulation.Outcome, err error) {
	parties := [2]*bench.Program{m.party(first, true), m.party(second, false)}
	for _, p := range parties {
		if err := p.Start(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Stop()) }()
	}
	points := []modulation.Point{pairPoint(first.Application, second.Application)}
	outcome, err = m.measure(ctx, [2]modulation.Party{parties[0], parties[1]}, points, []Counted{first, second}, w)
	if err != nil {
		err = fmt.Errorf("%s: %w", besideName(first.Application.Name, second.Application.Name), err)
	}
	return outcome, err
}

// Pressed measures an application beside a pressure. PressedResult reads the
// outcome.
func (m *Modulator) Pressed(ctx context.Context, a Counted, p pressure.Measured, w Wanted) (outcome *modulation.Outcome, err error) {
	target, second := m.party(a, true), m.stage.Stream()
	if err := target.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Stop()) }()
	points := []modulation.Point{pressurePoint(a.Application.Name, p, second)}
	outcome, err = m.measure(ctx, [2]modulation.Party{target, second}, points, []Counted{a}, w)
	if err != nil {
		err = fmt.Errorf("%s: %w", besideName(a.Application.Name, p.String()), err)
	}
	return outcome, err
}

// WholeRuns times an application alone and beside a pressure, one run each. The class
// is the placement regime before, between and after them; empty where the CPUs moved.
func (m *Modulator) WholeRuns(ctx context.Context, a Application, p pressure.Measured) (alone, pressed time.Duration, class regime.Class, err error) {
	class, err = m.class(ctx)
	if err != nil {
		return 0, 0, "", err
	}
	first, err := runSolo(ctx, m.stage.Session, a)
	if err != nil {
		return 0, 0, "", err
	}
	between, err := m.class(ctx)
	if err != nil {
		return 0, 0, "", err
	}
	second, err := m.stage.RunUnder(ctx, a.Command, p.Settings())
	if err != nil {
		return 0, 0, "", err
	}
	after, err := m.class(ctx)
	if class != between || between != after {
		class = ""
	}
	return first.Wall, second.Wall, class, err
}

// class returns the present placement regime.
func (m *Modulator) class(ctx context.Context) (regime.Class, error) {
	tag, err := m.stage.Probe(ctx)
	return tag.Class, err
}

// party returns an application as a party, on its own CPUs or on the interferer's.
func (m *Modulator) party(c Counted, first bool) *bench.Program {
	p := m.stage.Program(c.Application.Command, c.Source, first)
	p.Equal = c.Equal
	return p
}

// measure takes points with two parties, in slices that are long enough for those that
// are counted.
func (m *Modulator) measure(ctx context.Context, parties [2]modulation.Party, points []modulation.Point, counted []Counted, w Wanted) (*modulation.Outcome, error) {
	var slicing modulation.Slicing
	for _, c := range counted {
		own, err := modulation.SlicingFor(c.Steps)
		if err != nil {
			return nil, err
		}
		slicing = slicing.Max(own).Max(c.Slicing)
	}
	m.stage.Parties = parties
	plan := &modulation.Plan{
		Bench: m.stage.Bench(slicing), Points: points, Precision: w.Precision, Probe: m.stage.Probe,
		Class: w.Class, Budget: w.Budget, Outcome: w.Outcome, Again: m.stage.Again,
	}
	err := m.stage.Run(ctx, plan)
	return plan.Outcome, err
}

// CorunResult returns what an outcome says of a target beside a co-runner in a
// regime.
func CorunResult(s *bench.Session, o *modulation.Outcome, class regime.Class, target, corunner Application) (sampling.Result, bool) {
	e := &estimator{readings: o.Readings[class], session: s}
	return e.result(target.Name, corunLabel(corunner))
}

// PressedResult returns what an outcome says of an application beside a pressure in
// a regime.
func PressedResult(s *bench.Session, o *modulation.Outcome, class regime.Class, a Application, p pressure.Pressure) (sampling.Result, bool) {
	e := &estimator{readings: o.Readings[class], session: s}
	return e.result(a.Name, p.String())
}
