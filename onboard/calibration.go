package onboard

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
)

// Calibration measures the speed of each probe on the interferer's CPUs beside
// known traffic from the application's CPUs. The known traffic starts with the
// first sample that needs it.
type Calibration struct {
	session *Session
	grid    []Pressure
	// application has an interferer on the application's CPUs: an application
	// of known traffic.
	application *Session
	pressures   map[Pressure]MeasuredPressure
}

// NewCalibration prepares a calibration beside the pressures of grid. Close it.
func (s *Session) NewCalibration(grid []Pressure) *Calibration {
	return &Calibration{session: s, grid: grid}
}

// Close ends the known traffic.
func (c *Calibration) Close() error {
	if c.application == nil {
		return nil
	}
	return c.application.interferers.close()
}

// start begins the known traffic, if it has not.
func (c *Calibration) start(ctx context.Context) (err error) {
	if c.pressures != nil {
		return nil
	}
	s := c.session
	if c.application == nil {
		application := &Session{Machine: s.Machine, Placement: s.Placement, options: s.options, launcher: s.launcher, count: 1}
		// Together with the session's interferer it may fill the machine: the
		// placement of application and interferer asks for that.
		application.options.AllowAllCPUs = true
		if err := application.addInterferer(ctx, s.Placement.Target); err != nil {
			return err
		}
		c.application = application
	}
	measured, err := c.application.MeasurePressures(ctx, c.grid)
	if err != nil {
		return err
	}
	c.pressures = map[Pressure]MeasuredPressure{}
	for _, p := range measured {
		c.pressures[p.Pressure] = p
	}
	return nil
}

// Conditions returns each probe alone and beside every pressure, in the regimes
// that need them.
func (c *Calibration) Conditions(needed func(regime.Class) bool) []Condition {
	var all []Condition
	for _, probe := range profiler.Probes() {
		all = append(all, Condition{
			Target: probe, Needed: needed,
			Run: func(ctx context.Context) (Observation, error) {
				return c.observe(ctx, probe, nil)
			},
		})
		for _, p := range c.grid {
			all = append(all, Condition{
				Target: probe, Beside: p.String(), Needed: needed,
				Run: func(ctx context.Context) (Observation, error) {
					return c.observe(ctx, probe, &p)
				},
			})
		}
	}
	return all
}

// observe samples a probe's speed beside a pressure, or beside a spinning CPU.
func (c *Calibration) observe(ctx context.Context, probe string, beside *Pressure) (Observation, error) {
	setting, err := probeSetting(probe)
	if err != nil {
		return Observation{}, err
	}
	if err := c.start(ctx); err != nil {
		return Observation{}, fmt.Errorf("calibrating the probes: %w", err)
	}
	known := interferer.Setting{Mode: interferer.Spin}
	if beside != nil {
		known = c.pressures[*beside].Setting
	}
	var speed interferer.Achieved
	achieved, err := c.application.during(ctx, settingsOf(known), func(ctx context.Context) (err error) {
		speed, err = c.session.alone(ctx, settingsOf(setting), aloneWindow)
		return err
	})
	if err != nil {
		return Observation{}, err
	}
	return rateObservation(speed, achieved)
}

// Points returns the probe map of an outcome.
func (c *Calibration) Points(ctx context.Context, o *Outcome) ([]v1alpha1.ProbePoint, error) {
	// Samples that were resumed do not start the known traffic.
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("calibrating the probes: %w", err)
	}
	var points []v1alpha1.ProbePoint
	for _, probe := range profiler.Probes() {
		for _, wanted := range c.grid {
			p := c.pressures[wanted]
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

// CalibrateProbes runs a plan with the conditions of a calibration alone, in the
// regime that holds.
func (s *Session) CalibrateProbes(ctx context.Context, grid []Pressure, plan Plan) (points []v1alpha1.ProbePoint, err error) {
	c := s.NewCalibration(grid)
	defer func() { err = errors.Join(err, c.Close()) }()
	plan.Conditions = c.Conditions(nil)
	outcome, err := plan.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("calibrating the probes: %w", err)
	}
	return c.Points(ctx, outcome)
}
