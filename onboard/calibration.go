package onboard

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
)

// Calibration measures how fast each probe, running where the interferer
// runs, is beside known traffic that comes from where applications run.
type Calibration struct {
	session *Session
	// application is a second interferer on the application's CPUs: an
	// application of known traffic.
	application *Session
	pressures   []MeasuredPressure
	conditions  []Condition
}

// NewCalibration starts the known traffic for the pressures of grid. Close it.
func (s *Session) NewCalibration(ctx context.Context, grid []Pressure) (*Calibration, error) {
	o := s.options
	o.CPUs = s.Placement.Target
	// The two interferers together may fill the machine: that was asked for
	// by placing application and interferer so.
	o.AllowAllCPUs = true
	standIn, err := s.startInterferer(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Calibration{
		session:     s,
		application: &Session{Machine: s.Machine, Placement: s.Placement, pressure: standIn, launcher: s.launcher},
	}
	if c.pressures, err = c.application.MeasurePressures(ctx, grid); err == nil {
		err = c.addConditions()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("calibrating the probes: %w", err), c.Close())
	}
	return c, nil
}

// Close ends the known traffic.
func (c *Calibration) Close() error { return c.application.Close() }

// Conditions are each probe alone and beside every pressure.
func (c *Calibration) Conditions() []Condition { return c.conditions }

func (c *Calibration) addConditions() error {
	for _, probe := range profiler.Probes() {
		setting, err := probeSetting(probe)
		if err != nil {
			return err
		}
		observe := func(ctx context.Context, beside interferer.Setting) (Observation, error) {
			var speed interferer.Achieved
			achieved, err := c.application.during(beside, func() (err error) {
				speed, err = c.session.alone(ctx, setting, aloneWindow)
				return err
			})
			if err != nil {
				return Observation{}, err
			}
			return rateObservation(speed, achieved)
		}
		c.conditions = append(c.conditions, Condition{
			Target: probe,
			Run: func(ctx context.Context) (Observation, error) {
				return observe(ctx, interferer.Setting{Mode: interferer.Spin})
			},
		})
		for _, p := range c.pressures {
			c.conditions = append(c.conditions, Condition{
				Target: probe,
				Beside: p.String(),
				Run: func(ctx context.Context) (Observation, error) {
					return observe(ctx, p.Setting)
				},
			})
		}
	}
	return nil
}

// Points are the probe map an outcome holds.
func (c *Calibration) Points(o *Outcome) ([]v1alpha1.ProbePoint, error) {
	var points []v1alpha1.ProbePoint
	for _, probe := range profiler.Probes() {
		for _, p := range c.pressures {
			result, ok := o.Result(Key{probe, p.String()})
			if !ok {
				return nil, fmt.Errorf("calibrating the probes: %s beside %s was not measured", probe, p)
			}
			points = append(points, v1alpha1.ProbePoint{
				Probe:                    probe,
				Regime:                   string(o.Class),
				ReadShare:                float64(p.ReadShare),
				Level:                    p.Level,
				InterfererBytesPerSecond: float64(p.Alone.Total()),
				AchievedBytesPerSecond:   float64(result.Achieved.Total()),
				RelativeSpeed:            float64(result.NormalizedPerformance),
				Spread:                   result.Spread,
				Repeats:                  result.Repeats,
			})
		}
	}
	return points, nil
}

// CalibrateProbes takes the samples of a calibration by itself, as plan says.
func (s *Session) CalibrateProbes(ctx context.Context, grid []Pressure, plan Plan) (points []v1alpha1.ProbePoint, err error) {
	c, err := s.NewCalibration(ctx, grid)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	plan.Conditions = c.Conditions()
	outcome, err := plan.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("calibrating the probes: %w", err)
	}
	return c.Points(outcome)
}
