package onboard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves/design"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// Adaptivity has an onboarding choose the most informative of the wanted
// pressures, and infer the others (package design).
type Adaptivity struct {
	// Budget bounds all runs beside the interferer together, in solo times; 0
	// means 4. Applications that lose little get half.
	Budget float64
	// Chosen is called with every choice and a bound of the time left; may be
	// nil.
	Chosen func(c design.Choice, left time.Duration)
	// Ended is called with the reason for no further run; may be nil.
	Ended func(reason string)
}

// AdaptiveReadShares and AdaptiveLevels are the points that an adaptive onboarding
// chooses from: more than the paper's, because most of them are inferred.
var (
	AdaptiveReadShares = []units.ReadShare{0.5, 0.75, 1}
	AdaptiveLevels     = []float64{0.25, 0.4, 0.5, 0.65, 0.75, 0.9, 1}
)

// adaptiveSampling chooses the runs beside the interferer one by one. Every regime
// has its own samples: when the CPUs move, the chosen runs are taken again.
type adaptiveSampling struct {
	*Onboarding
	experiment *Experiment
	chosen     []chosenRun
	search     *design.Design
}

// chosenRun is a choice and its condition.
type chosenRun struct {
	design.Choice
	pressure  pressure.Measured
	condition sampling.Condition
}

func (r *adaptiveSampling) begin() ([]sampling.Condition, sampling.Precision) {
	return r.soloConditions(r.experiment)
}

func (r *adaptiveSampling) next(o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*sampling.Condition, error) {
	if err := r.learn(o, machine); err != nil {
		return nil, err
	}
	choice, more := r.search.Next()
	if !more {
		if r.Adaptive.Ended != nil {
			r.Adaptive.Ended(r.search.Reason())
		}
		return nil, nil
	}
	next, err := r.choose(choice)
	if err != nil {
		return nil, err
	}
	if r.Adaptive.Chosen != nil {
		solo, _ := o.Solo(r.Application.Name)
		r.Adaptive.Chosen(choice, time.Duration((r.search.Budget()-r.search.Spent())*solo.Seconds*float64(time.Second)))
	}
	return &next, nil
}

// choose returns the condition of a choice.
func (r *adaptiveSampling) choose(c design.Choice) (sampling.Condition, error) {
	i := slices.IndexFunc(r.experiment.Pressures, func(p pressure.Measured) bool {
		return p.ReadShare == c.ReadShare && p.Level == c.Level
	})
	if i < 0 {
		return sampling.Condition{}, fmt.Errorf("%v reads at %v was not prepared", c.ReadShare, c.Level)
	}
	chosen := r.experiment.Pressures[i]
	condition := sampling.Condition{
		Target: r.Application.Name, Beside: chosenLabel(len(r.chosen), chosen.Pressure, c.Duty),
		Run: func(ctx context.Context) (sampling.Observation, error) {
			return r.Session.RunPressed(ctx, r.Application.Command, chosen.Setting, c.Duty)
		},
	}
	r.chosen = append(r.chosen, chosenRun{c, chosen, condition})
	return condition, nil
}

// chosenLabel tells the runs of one pressure apart.
func chosenLabel(run int, p pressure.Pressure, duty float64) string {
	if duty >= 1 {
		return fmt.Sprintf("%s (run %d)", p, run+1)
	}
	return fmt.Sprintf("%s, %.0f%% of the time (run %d)", p, 100*duty, run+1)
}

// learn makes the design anew from the runs of an outcome.
func (r *adaptiveSampling) learn(o *sampling.Outcome, machine *v1alpha1.MachineProfile) error {
	solo, ok := o.Solo(r.Application.Name)
	if !ok {
		return fmt.Errorf("%s was never run alone", r.Application.Name)
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
		for _, p := range pressure.WithProbes(nil) {
			options.Required = append(options.Required, design.Setting{ReadShare: p.ReadShare, Level: p.Level})
		}
	}
	search, err := design.New(options)
	if err != nil {
		return err
	}
	for _, c := range r.chosen {
		result, ok := o.Result(c.condition.Key())
		if !ok {
			return fmt.Errorf("%s was not measured", c.condition.String())
		}
		_, achieved := c.pressure.Bandwidths(result)
		cost := design.Cost(float64(result.NormalizedPerformance), c.Duty)
		search.Observe(design.Observation{
			Setting: c.Setting, Performance: result.NormalizedPerformance, Achieved: units.Bandwidth(achieved),
			Cost: cost, Noise: options.Noise / (cost * c.Duty),
		})
	}
	r.search = search
	return nil
}

// Bounds of the noise of a run, which few solo controls estimate badly.
const (
	leastRunNoise = 0.003
	mostRunNoise  = 0.2
)

func levelsOf(pressures []pressure.Measured) []float64 {
	var levels []float64
	for _, p := range pressures {
		levels = append(levels, p.Level)
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// supplies returns what the memory gives at every read share that may be measured:
// the bandwidth that the interferer just reached alone, and the observed capacity.
func (r *adaptiveSampling) supplies(machine *v1alpha1.MachineProfile, o *sampling.Outcome) []design.Supply {
	var all []design.Supply
	for _, p := range r.experiment.Pressures {
		if p.Level != 1 || slices.ContainsFunc(all, func(s design.Supply) bool { return s.ReadShare == p.ReadShare }) {
			continue
		}
		s := design.Supply{ReadShare: p.ReadShare, Sustained: p.Alone.Total()}
		s.Capacity = max(s.Sustained, observedCapacity(machine, p.ReadShare, string(o.Class)))
		all = append(all, s)
	}
	return all
}

// observedCapacity returns the highest bandwidth that a probe and known traffic
// reached together, for the probe whose read share is nearest; 0 without a probe
// map.
func observedCapacity(machine *v1alpha1.MachineProfile, share units.ReadShare, class string) units.Bandwidth {
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

// profile joins measured and inferred points. The traffic comes from the measured
// ones.
func (r *adaptiveSampling) profile(o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	measured, err := r.measured(o)
	if err != nil {
		return nil, err
	}
	profile, err := r.experiment.profileOf(r.Application, o, machine, measured)
	if err != nil {
		return nil, err
	}
	curves := slices.Clone(measured)
	for _, p := range r.experiment.Pressures {
		s := design.Setting{ReadShare: p.ReadShare, Level: p.Level}
		if slices.ContainsFunc(r.chosen, func(c chosenRun) bool { return c.Setting == s }) {
			continue
		}
		e := r.search.Estimate(s)
		achieved := float64(e.Achieved)
		curves = pressure.AddPoint(curves, p, v1alpha1.CurvePoint{
			Level: p.Level, InterfererBytesPerSecond: float64(p.Alone.Total()), AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: float64(e.Performance), Spread: &e.SD, Inferred: true,
		})
	}
	profile.Spec.Curves = pressure.Ordered(curves)
	profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
		"adaptive: %d runs of %.1f solo times beside the interferer, the other points are inferred: %s", len(r.chosen), r.search.Spent(), r.search.Reason()))
	return profile, nil
}

// measured returns the measured points; runs of one pressure are averaged.
func (r *adaptiveSampling) measured(o *sampling.Outcome) ([]v1alpha1.SensitivityCurve, error) {
	var curves []v1alpha1.SensitivityCurve
	for i, c := range r.chosen {
		if slices.ContainsFunc(r.chosen[:i], func(earlier chosenRun) bool { return earlier.Setting == c.Setting }) {
			continue
		}
		var performance, alone, achieved, runs float64
		for _, same := range r.chosen[i:] {
			result, ok := o.Result(same.condition.Key())
			if same.Setting != c.Setting || !ok {
				continue
			}
			a, b := same.pressure.Bandwidths(result)
			performance += float64(result.NormalizedPerformance)
			alone, achieved, runs = alone+a, achieved+b, runs+1
		}
		if runs == 0 {
			return nil, fmt.Errorf("%s was not measured", c.condition.String())
		}
		achieved /= runs
		curves = pressure.AddPoint(curves, c.pressure, v1alpha1.CurvePoint{
			Level: c.Level, InterfererBytesPerSecond: alone / runs, AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: max(performance/runs, sampling.LowestPerformance), Repeats: int(runs),
		})
	}
	return pressure.Ordered(curves), nil
}
