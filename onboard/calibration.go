package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

const (
	// calibrationError is the standard error of the speed of a probe beside known
	// traffic, of which the map joins several.
	calibrationError = 0.004
	// trafficError is that of how much the known traffic falls beside the probe.
	trafficError = 0.02
	// calibrationBudget is enough for a machine that other programs use, too;
	// leastCalibrated readings are taken of every point all the same.
	calibrationBudget = time.Minute
	leastCalibrated   = 3
	// calibrationPatience bounds the waits for a regime that has become the common one.
	calibrationPatience = 4 * time.Second
)

// machinePlan measures the sustained bandwidth at every read share, and each
// probe beside known traffic from the application's CPUs.
func machinePlan(g *bench.Stage, o MachineOptions, shares []units.ReadShare, known []pressure.Measured) (*modulation.Plan, error) {
	first, second := g.Opposite.Stream(), g.Stream()
	g.Parties = [2]modulation.Party{first, second}
	plan := &modulation.Plan{
		Bench: g.Bench(DefaultSlicing), Precision: o.Precision, Probe: g.Probe,
		Budget: calibrationBudget, Least: leastCalibrated,
	}
	if o.Report != nil {
		plan.Report = func(share float64) { o.Report(share, "the machine") }
	}
	for _, share := range shares {
		setting := interferer.Setting{Mode: interferer.Stream, ReadShare: share, Pattern: interferer.Sequential}
		plan.Points = append(plan.Points, modulation.Point{
			States:  []modulation.State{bench.SecondAlone},
			Compare: []modulation.Comparison{{Name: sustainedLabel(share), Party: 1}},
			Prepare: func() error { second.Does = pressure.SettingsOf(setting); return nil },
		})
	}
	for _, probe := range profiler.Probes() {
		setting, err := probeSetting(probe)
		if err != nil {
			return nil, err
		}
		for _, p := range known {
			plan.Points = append(plan.Points, modulation.Point{
				States: []modulation.State{bench.FirstAlone, bench.Together, bench.SecondAlone},
				Compare: []modulation.Comparison{
					{Name: besideName(p.String(), probe), Party: 0, On: 1, Off: 0, StandardError: trafficError},
					{Name: besideName(probe, p.String()), Party: 1, On: 1, Off: 2, StandardError: calibrationError},
				},
				Prepare: func() error {
					first.Does, second.Does = p.Settings(), pressure.SettingsOf(setting)
					return nil
				},
			})
		}
	}
	return plan, nil
}

// measureMachine measures what the options ask for, in the regime that holds.
func measureMachine(ctx context.Context, g *bench.Stage, o MachineOptions) (*v1alpha1.MachineProfile, error) {
	c, err := newCalibration(ctx, g, o)
	if err != nil {
		return nil, err
	}
	return c.measure(ctx, "")
}

// calibration measures a machine in one regime after another. What was measured in a
// regime by the way is kept.
type calibration struct {
	*bench.Stage
	options MachineOptions
	known   []pressure.Measured
	outcome *modulation.Outcome
}

func newCalibration(ctx context.Context, g *bench.Stage, o MachineOptions) (*calibration, error) {
	known, err := g.Opposite.MeasurePressures(ctx, o.ProbeGrid)
	return &calibration{Stage: g, options: o, known: known}, err
}

// measure returns the profile of the machine in a regime, for which it waits as long as
// calibrationPatience; an empty class means whichever lasts.
func (c *calibration) measure(ctx context.Context, class regime.Class) (*v1alpha1.MachineProfile, error) {
	plan, err := machinePlan(c.Stage, c.options, c.options.ReadShares, c.known)
	if err != nil {
		return nil, err
	}
	plan.Outcome = c.outcome
	if class != "" {
		plan.Class, plan.MostWaited = class, calibrationPatience
	}
	if err := c.Run(ctx, plan); err != nil {
		return nil, fmt.Errorf("measuring the machine: %w", err)
	}
	c.outcome = plan.Outcome
	if class == "" {
		class = c.outcome.Complete(leastCalibrated)
	}
	e := &estimator{readings: c.outcome.Readings[class], session: c.Session}
	profile := newMachineProfile(c.Session, c.options, circumstancesOf(c.outcome, class))
	if profile.Spec.Sustained, err = e.sustained(c.options.ReadShares); err != nil {
		return nil, err
	}
	profile.Spec.ProbeMap, err = e.probePoints(class, c.known)
	return profile, err
}

// addProbes is AddProbeMap on an open stage.
func addProbes(ctx context.Context, g *bench.Stage, machine *v1alpha1.MachineProfile, o MachineOptions, class regime.Class) (*v1alpha1.MachineProfile, error) {
	p, err := newProbing(ctx, g, o, class)
	if err != nil {
		return nil, err
	}
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	return p.addTo(machine)
}

// probing is a calibration of the probes in one regime.
type probing struct {
	*bench.Stage
	known []pressure.Measured
	plan  *modulation.Plan
}

// newProbing prepares a calibration in a regime; an empty class means whichever lasts.
func newProbing(ctx context.Context, g *bench.Stage, o MachineOptions, class regime.Class) (*probing, error) {
	known, err := g.Opposite.MeasurePressures(ctx, o.ProbeGrid)
	if err != nil {
		return nil, err
	}
	plan, err := machinePlan(g, o, nil, known)
	if err != nil {
		return nil, err
	}
	plan.Class = class
	return &probing{g, known, plan}, nil
}

// take measures. Where the regime does not come back, it may be called again later.
func (p *probing) take(ctx context.Context) error {
	if err := p.Run(ctx, p.plan); err != nil {
		return fmt.Errorf("calibrating the probes: %w", err)
	}
	return nil
}

// addTo returns a copy of the machine with the probes in the regime.
func (p *probing) addTo(machine *v1alpha1.MachineProfile) (*v1alpha1.MachineProfile, error) {
	class := p.plan.Class
	if class == "" {
		class = p.plan.Outcome.Complete(leastCalibrated)
	}
	e := &estimator{readings: p.plan.Outcome.Readings[class], session: p.Session}
	points, err := e.probePoints(class, p.known)
	if err != nil {
		return nil, err
	}
	machine = machine.DeepCopy()
	others := slices.DeleteFunc(machine.Spec.ProbeMap, func(p v1alpha1.ProbePoint) bool { return p.Regime == string(class) })
	machine.Spec.ProbeMap = append(others, points...)
	return machine, nil
}

// mostAlternations is how often firstPlacement asks for each placement.
const mostAlternations = 12

// firstPlacement measures in one placement or another, each of which may be away for long:
// in turn, until one of the ways does not end with modulation.ErrRegimeLeft. It returns
// which.
func firstPlacement(ctx context.Context, ways ...func(context.Context) error) (way int, err error) {
	for range mostAlternations {
		for i, measure := range ways {
			if err = measure(ctx); !errors.Is(err, modulation.ErrRegimeLeft) {
				return i, err
			}
		}
	}
	return 0, err
}

// sustained returns the bandwidth of the interferer alone at every read share.
func (e *estimator) sustained(shares []units.ReadShare) ([]v1alpha1.SustainedBandwidth, error) {
	var all []v1alpha1.SustainedBandwidth
	for _, share := range shares {
		var rates []float64
		for _, r := range e.readings[sustainedLabel(share)] {
			rates = append(rates, r.Alone)
		}
		if len(rates) == 0 {
			return nil, fmt.Errorf("sustained bandwidth at %s reads was not measured", share)
		}
		s := v1alpha1.SustainedBandwidth{
			ReadShare: float64(share), Pattern: string(interferer.Sequential),
			BytesPerSecond: stats.Median(rates), Repeats: len(rates),
		}
		if len(rates) > 1 {
			relative := stat.StdDev(rates, nil) / s.BytesPerSecond
			s.RelativeSpread = &relative
		}
		all = append(all, s)
	}
	return all, nil
}

// probePoints returns the probe map.
func (e *estimator) probePoints(class regime.Class, known []pressure.Measured) ([]v1alpha1.ProbePoint, error) {
	var points []v1alpha1.ProbePoint
	for _, probe := range profiler.Probes() {
		for _, p := range known {
			speed, _, ok := e.of(besideName(probe, p.String()))
			_, traffic, known := e.of(besideName(p.String(), probe))
			if !ok || !known {
				return nil, fmt.Errorf("calibrating the probes: %s beside %s was not measured", probe, p)
			}
			alone, beside := medianRates(traffic)
			point := v1alpha1.ProbePoint{
				Probe: probe, Regime: string(class), ReadShare: float64(p.ReadShare), Level: p.Level,
				InterfererBytesPerSecond: alone, AchievedBytesPerSecond: beside,
				RelativeSpeed: min(speed.Performance, v1alpha1.MaxNormalizedPerformance), Repeats: speed.Readings,
			}
			if !math.IsInf(speed.StandardError, 0) {
				sd := speed.StandardError * math.Sqrt(float64(speed.Readings))
				point.Spread = &sd
			}
			points = append(points, point)
		}
	}
	return points, nil
}

func sustainedLabel(share units.ReadShare) string {
	return fmt.Sprintf("interferer at %s reads", share)
}
