package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves/design"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// Adaptivity has an onboarding choose its pressures among those wanted by what
// they teach, and infer the others (package design).
type Adaptivity struct {
	// Budget is what all runs beside the interferer may take, in solo times; 0
	// means 4. Applications that lose little get half.
	Budget float64
	// Chosen is told of every choice and about how much time is left at most;
	// may be nil.
	Chosen func(c design.Choice, left time.Duration)
	// Ended is told why there was no further run; may be nil.
	Ended func(reason string)
}

// AdaptiveReadShares and AdaptiveLevels are what an adaptive onboarding chooses
// from: more than the paper's, because most of them are inferred.
var (
	AdaptiveReadShares = []units.ReadShare{0.5, 0.75, 1}
	AdaptiveLevels     = []float64{0.25, 0.4, 0.5, 0.65, 0.75, 0.9, 1}
)

// adaptiveSolos is how many solo controls an adaptive onboarding begins with: a
// run is compared with their median.
const adaptiveSolos = 3

// adaptiveRun is one adaptive onboarding at work.
type adaptiveRun struct {
	*Onboarding
	experiment *Experiment
	chosen     []chosenRun
}

// chosenRun is a choice and its condition.
type chosenRun struct {
	design.Choice
	pressure  MeasuredPressure
	condition Condition
}

// runAdaptive is Run where the pressures are chosen one by one. Every regime has
// its own samples, so that a move of the CPUs takes the chosen ones again.
func (b *Onboarding) runAdaptive(ctx context.Context, experiment *Experiment) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	calibration := b.Session.NewCalibration(b.Machine.ProbeGrid)
	defer func() { err = errors.Join(err, calibration.Close()) }()
	plan := b.chosenPlan(experiment, calibration)
	run := &adaptiveRun{Onboarding: b, experiment: experiment}
	for {
		outcome, err := plan.Run(ctx)
		if err != nil {
			return nil, nil, err
		}
		if machine == nil || b.lacksProbes(outcome.Class) {
			if machine, err = b.complete(ctx, calibration, outcome); err != nil {
				return nil, nil, err
			}
		}
		search, err := run.search(outcome, machine)
		if err != nil {
			return nil, nil, err
		}
		choice, more := search.Next()
		if !more {
			if b.Adaptive.Ended != nil {
				b.Adaptive.Ended(search.Reason())
			}
			profile, err = run.profile(outcome, machine, search)
			return profile, machine, err
		}
		next, err := run.choose(choice)
		if err != nil {
			return nil, nil, err
		}
		if b.Adaptive.Chosen != nil {
			solo, _ := outcome.Solo(b.Application.Name)
			b.Adaptive.Chosen(choice, time.Duration((search.Budget()-search.Spent())*solo.Seconds*float64(time.Second)))
		}
		plan.Conditions = append(plan.Conditions, next)
	}
}

// chosenPlan takes solo controls and what the machine's profile lacks; the runs
// beside the interferer are added as they are chosen.
func (b *Onboarding) chosenPlan(experiment *Experiment, calibration *Calibration) *Plan {
	solos := *experiment
	solos.Pressures = nil
	plan := &Plan{
		Conditions: solos.Conditions(), Precision: Precision{MinRepeats: 1, MaxRepeats: 1, MinSolos: adaptiveSolos},
		Tag: b.Session.Tag, Reporter: b.Reporter, Random: b.Session.Random, Keep: b.Keep,
	}
	if b.Known == nil {
		plan.Conditions = append(plan.Conditions, b.Session.sustainedConditions(b.Machine.ReadShares)...)
	}
	plan.Conditions = append(plan.Conditions, calibration.Conditions(b.lacksProbes)...)
	plan.Restore(b.Restored)
	return plan
}

// choose adds a run to those that the plan has to take.
func (r *adaptiveRun) choose(c design.Choice) (Condition, error) {
	i := slices.IndexFunc(r.experiment.Pressures, func(p MeasuredPressure) bool {
		return p.ReadShare == c.ReadShare && p.Level == c.Level
	})
	if i < 0 {
		return Condition{}, fmt.Errorf("%v reads at %v was not prepared", c.ReadShare, c.Level)
	}
	pressure := r.experiment.Pressures[i]
	condition := Condition{
		Target: r.Application.Name, Beside: chosenLabel(len(r.chosen), pressure.Pressure, c.Duty),
		Run: func(ctx context.Context) (Observation, error) {
			return r.Session.RunPressed(ctx, r.Application.Command, pressure.Setting, c.Duty)
		},
	}
	r.chosen = append(r.chosen, chosenRun{c, pressure, condition})
	return condition, nil
}

// chosenLabel tells the runs of one pressure apart.
func chosenLabel(run int, p Pressure, duty float64) string {
	if duty >= 1 {
		return fmt.Sprintf("%s (run %d)", p, run+1)
	}
	return fmt.Sprintf("%s, %.0f%% of the time (run %d)", p, 100*duty, run+1)
}

// search is the state of the design after the runs of an outcome.
func (r *adaptiveRun) search(o *Outcome, machine *v1alpha1.MachineProfile) (*design.Design, error) {
	solo, ok := o.Solo(r.Application.Name)
	if !ok {
		return nil, fmt.Errorf("%s was never run alone", r.Application.Name)
	}
	options := design.Options{
		Supplies: r.supplies(machine, o), Levels: levelsOf(r.experiment.Pressures), Budget: r.Adaptive.Budget,
	}
	if solo.RelativeSpread != nil {
		options.Noise = min(max(*solo.RelativeSpread, leastRunNoise), mostRunNoise)
	}
	if traffic := r.experiment.Traffic[r.Application.Name]; traffic != nil {
		options.Own = traffic.Total()
	} else {
		// The unpaced runs are the probes that the traffic is inferred from.
		for _, p := range WithProbes(nil) {
			options.Required = append(options.Required, design.Setting{ReadShare: p.ReadShare, Level: p.Level})
		}
	}
	search, err := design.New(options)
	if err != nil {
		return nil, err
	}
	for _, c := range r.chosen {
		result, ok := o.Result(c.condition.key())
		if !ok {
			return nil, fmt.Errorf("%s was not measured", c.condition.describe())
		}
		_, achieved := c.bandwidths(result)
		cost := design.Cost(float64(result.NormalizedPerformance), c.Duty)
		search.Observe(design.Observation{
			Setting: c.Setting, Performance: result.NormalizedPerformance, Achieved: units.Bandwidth(achieved),
			Cost: cost, Noise: options.Noise / (cost * c.Duty),
		})
	}
	return search, nil
}

// Bounds of the noise of a run that few solo controls tell.
const (
	leastRunNoise = 0.003
	mostRunNoise  = 0.2
)

// bandwidths are what the interferer reached alone and beside the application.
func (c *chosenRun) bandwidths(result Result) (alone, achieved float64) {
	alone, achieved = float64(c.pressure.Alone.Total()), float64(result.Achieved.Total())
	if result.Alone > 0 {
		alone = float64(result.Alone)
		achieved = alone * result.RelativeSpeed
	}
	return alone, achieved
}

func levelsOf(pressures []MeasuredPressure) []float64 {
	var levels []float64
	for _, p := range pressures {
		levels = append(levels, p.Level)
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// supplies is what the memory gives at every read share that may be measured:
// what the interferer just reached alone, and the most that probe and known
// traffic were seen to carry together.
func (r *adaptiveRun) supplies(machine *v1alpha1.MachineProfile, o *Outcome) []design.Supply {
	var all []design.Supply
	for _, p := range r.experiment.Pressures {
		if p.Level != 1 || slices.ContainsFunc(all, func(s design.Supply) bool { return s.ReadShare == p.ReadShare }) {
			continue
		}
		s := design.Supply{ReadShare: p.ReadShare, Sustained: p.Alone.Total()}
		s.Capacity = max(s.Sustained, carried(machine, p.ReadShare, string(o.Class)))
		all = append(all, s)
	}
	return all
}

// carried is the most that the memory carried of a probe and known traffic, at
// the probe whose read share is nearest; 0 without a probe map.
func carried(machine *v1alpha1.MachineProfile, share units.ReadShare, class string) units.Bandwidth {
	var most float64
	nearest := math.Inf(1)
	for _, p := range profiler.PointsInRegime(machine.Spec.ProbeMap, class) {
		own, ok := profiler.ProbeReadShare(p.Probe)
		alone, known := sustainedAt(machine, units.ReadShare(own))
		if !ok || !known {
			continue
		}
		both := p.AchievedBytesPerSecond + p.RelativeSpeed*alone
		switch off := math.Abs(float64(share) - own); {
		case off < nearest:
			nearest, most = off, both
		case off == nearest:
			most = max(most, both)
		}
	}
	return units.Bandwidth(most)
}

// profile joins measured and inferred points. The traffic is inferred from the
// measured ones.
func (r *adaptiveRun) profile(o *Outcome, machine *v1alpha1.MachineProfile, search *design.Design) (*v1alpha1.ApplicationProfile, error) {
	measured, err := r.measured(o)
	if err != nil {
		return nil, err
	}
	profile, err := r.experiment.profile(r.Application, o, machine, measured)
	if err != nil {
		return nil, err
	}
	curves := slices.Clone(measured)
	for _, p := range r.experiment.Pressures {
		s := design.Setting{ReadShare: p.ReadShare, Level: p.Level}
		if slices.ContainsFunc(r.chosen, func(c chosenRun) bool { return c.Setting == s }) {
			continue
		}
		e := search.Estimate(s)
		achieved := float64(e.Achieved)
		curves = addPoint(curves, p, v1alpha1.CurvePoint{
			Level: p.Level, InterfererBytesPerSecond: float64(p.Alone.Total()), AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: float64(e.Performance), Spread: &e.SD, Inferred: true,
		})
	}
	profile.Spec.Curves = ordered(curves)
	profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
		"adaptive: %d runs of %.1f solo times beside the interferer, the other points are inferred: %s", len(r.chosen), search.Spent(), search.Reason()))
	return profile, nil
}

// measured are the points that runs gave; runs of one pressure are averaged.
func (r *adaptiveRun) measured(o *Outcome) ([]v1alpha1.SensitivityCurve, error) {
	var curves []v1alpha1.SensitivityCurve
	for i, c := range r.chosen {
		if slices.ContainsFunc(r.chosen[:i], func(earlier chosenRun) bool { return earlier.Setting == c.Setting }) {
			continue
		}
		var performance, alone, achieved, runs float64
		for _, same := range r.chosen[i:] {
			result, ok := o.Result(same.condition.key())
			if same.Setting != c.Setting || !ok {
				continue
			}
			a, b := same.bandwidths(result)
			performance += float64(result.NormalizedPerformance)
			alone, achieved, runs = alone+a, achieved+b, runs+1
		}
		if runs == 0 {
			return nil, fmt.Errorf("%s was not measured", c.condition.describe())
		}
		achieved /= runs
		curves = addPoint(curves, c.pressure, v1alpha1.CurvePoint{
			Level: c.Level, InterfererBytesPerSecond: alone / runs, AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: max(performance/runs, lowestPerformance), Repeats: int(runs),
		})
	}
	return ordered(curves), nil
}

// lowestPerformance keeps a noisy reading above zero.
const lowestPerformance = 0.01

func addPoint(curves []v1alpha1.SensitivityCurve, at MeasuredPressure, p v1alpha1.CurvePoint) []v1alpha1.SensitivityCurve {
	i := slices.IndexFunc(curves, func(c v1alpha1.SensitivityCurve) bool {
		return c.ReadShare == float64(at.ReadShare) && c.Pattern == string(at.Pattern)
	})
	if i < 0 {
		return append(curves, v1alpha1.SensitivityCurve{
			ReadShare: float64(at.ReadShare), Pattern: string(at.Pattern), Points: []v1alpha1.CurvePoint{p},
		})
	}
	curves[i].Points = append(slices.Clone(curves[i].Points), p)
	return curves
}

// ordered sorts curves by read share and their points by bandwidth. A drifting
// machine may give two levels one bandwidth: the inferred one yields.
func ordered(curves []v1alpha1.SensitivityCurve) []v1alpha1.SensitivityCurve {
	slices.SortStableFunc(curves, func(a, b v1alpha1.SensitivityCurve) int { return cmp.Compare(a.ReadShare, b.ReadShare) })
	for i := range curves {
		points := curves[i].Points
		slices.SortStableFunc(points, func(a, b v1alpha1.CurvePoint) int {
			return cmp.Or(cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond), cmp.Compare(b.Repeats, a.Repeats))
		})
		curves[i].Points = slices.CompactFunc(points, func(a, b v1alpha1.CurvePoint) bool {
			return math.Abs(a.InterfererBytesPerSecond-b.InterfererBytesPerSecond) <= 1e-6*b.InterfererBytesPerSecond
		})
	}
	return curves
}
