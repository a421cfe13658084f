package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Trial onboards applications and runs every pair of them for real, by
// modulation and in one placement regime, so that predictions can be compared
// with the truth.
type Trial struct {
	Session *bench.Session
	// Applications need fine ticks: each is counted by Source, in steps of some
	// microseconds.
	Applications []Application
	Source       ticks.Source
	// Wanted are the points of the curve families.
	Wanted []pressure.Pressure
	// Machine says how the machine is measured.
	Machine MachineOptions
	// Precision of each point and each pair.
	Precision modulation.Precision
	// Budget bounds the time of the whole trial. Where measuring the machine leaves less
	// than a quarter of it, curves and pairs still get that quarter.
	Budget time.Duration
	// Report is told the share of the trial that is done, 0 to 1, and what runs
	// now; may be nil.
	Report func(share float64, what string)
}

// Tried is the result of a trial.
type Tried struct {
	Machine  *v1alpha1.MachineProfile
	Profiles []*v1alpha1.ApplicationProfile
	// Pairs are those measured, of applications with profiles; Missing names other
	// pairs, applications and points of curves for which the regime did not last.
	Pairs   []Pair
	Missing []string
	// LeftOut says which applications were measured, and why that makes no profile.
	LeftOut []string
	Class   regime.Class
	// RoundTrip is the median round trip in that regime.
	RoundTrip time.Duration
	// Dropped counts the blocks taken in other regimes or while it changed.
	Dropped int
	// Controls are the A/A comparisons, by application.
	Controls []Pair
}

// trial is one run of a Trial.
type trial struct {
	*Trial
	*bench.Stage
	experiment *Experiment
	outcome    *modulation.Outcome
	solo       map[string]v1alpha1.Timing
	class      regime.Class
	// calibration and machines are of the regimes in which the machine was measured.
	calibration *calibration
	machines    map[regime.Class]*v1alpha1.MachineProfile
	// target runs if it is not nil; it is the application of index running.
	target  *bench.Program
	running int
	until   time.Time
}

const (
	// curvesWeight is how many times the time of a pair the curves of an application get.
	curvesWeight = 4
	// visit is how long a pair is measured at a time once it has the fewest readings.
	visit = time.Second / 2
	// mostAway is how long a regime may be away before what lacks most in the one that is
	// there is measured.
	mostAway = 100 * time.Millisecond
	// shortest is the least time in which anything is measured.
	shortest = time.Second / 2
	// settlingShare is the part of the budget from which on another regime is not worth
	// the time to measure the machine in it.
	settlingShare = 0.2
	// leastShare is the part of the budget in which curves and pairs are measured at least,
	// however long the machine took.
	leastShare = 0.25
)

// Run measures until everything is precise or the budget is spent.
func (t *Trial) Run(ctx context.Context) (tried *Tried, err error) {
	s := t.Session
	run := &trial{
		Trial: t, until: time.Now().Add(t.Budget), solo: map[string]v1alpha1.Timing{},
		machines:   map[regime.Class]*v1alpha1.MachineProfile{},
		experiment: &Experiment{Session: s, Applications: t.Applications, Version: t.Machine.Version},
		outcome:    &modulation.Outcome{Readings: map[regime.Class]map[string][]modulation.Reading{}, RoundTrips: map[regime.Class][]float64{}},
	}
	for _, a := range t.Applications {
		run.report(a.Name + " alone")
		o, err := runSolo(ctx, s, a)
		if err != nil {
			return nil, err
		}
		run.solo[a.Name] = v1alpha1.Timing{Seconds: o.Wall.Seconds(), Repeats: 1}
		if err := run.experiment.MeasureDistance(ctx, a, nil); err != nil {
			return nil, err
		}
	}
	if run.Stage, err = s.OpenStage(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Stage.Close()) }()
	options := t.Machine
	options.Report = func(_ float64, what string) { run.report(what) }
	if run.calibration, err = newCalibration(ctx, run.Stage, options); err != nil {
		return nil, err
	}
	if err := run.settle(ctx, ""); err != nil {
		return nil, err
	}
	if run.experiment.Pressures, err = s.MeasurePressures(ctx, pressure.WithProbes(t.Wanted)); err != nil {
		return nil, err
	}
	if least := time.Now().Add(time.Duration(leastShare * float64(t.Budget))); run.until.Before(least) {
		run.until = least
	}
	if err := run.all(ctx); err != nil {
		return nil, err
	}
	run.settleFullest()
	return run.collect(run.machines[run.class]), nil
}

// all measures what lacks most in the regime that is there, again and again, until all
// parts are precise in the one that counts or the budget is spent.
func (r *trial) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.stopTarget()) }()
	for time.Until(r.until) > shortest {
		there, err := r.Probe(ctx)
		if err != nil {
			return err
		}
		p, ok := r.poorest(there.Class)
		if !ok && there.Class == r.class {
			return nil
		}
		if ok {
			err = r.take(ctx, p, there.Class)
		} else {
			bench.Pause(ctx, mostAway)
		}
		if err == nil {
			err = r.move(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take measures a part in a regime, for as long as that is there.
func (r *trial) take(ctx context.Context, p part, class regime.Class) (err error) {
	if err := r.startTarget(ctx, p.target); err != nil {
		return err
	}
	name := r.Applications[p.target].Name
	if p.corunner == theInterferer {
		second := r.Stream()
		return r.measure(ctx, second, p, r.points(p, second), name+" under pressure", class)
	}
	corunner := r.Applications[p.corunner]
	neighbor := r.party(corunner, false)
	if err := neighbor.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, neighbor.Stop()) }()
	return r.measure(ctx, neighbor, p, r.points(p, nil), besideName(name, corunner.Name), class)
}

// startTarget starts an application as the target, in place of the one that runs.
func (r *trial) startTarget(ctx context.Context, index int) error {
	if r.target != nil && r.running == index {
		return nil
	}
	if err := r.stopTarget(); err != nil {
		return err
	}
	target := r.party(r.Applications[index], true)
	if err := target.Start(ctx); err != nil {
		return err
	}
	r.target, r.running = target, index
	return nil
}

func (r *trial) stopTarget() error {
	if r.target == nil {
		return nil
	}
	target := r.target
	r.target = nil
	return target.Stop()
}

// move makes another regime count where far more has been measured in it.
func (r *trial) move(ctx context.Context) error {
	better, ok := r.fuller()
	if !ok || time.Until(r.until) < time.Duration(settlingShare*float64(r.Budget)) {
		return nil
	}
	if err := r.settle(ctx, better); err != nil && !errors.Is(err, modulation.ErrRegimeLeft) {
		return err
	}
	return nil
}

// fuller returns the regime with the most measured, if that is everything and the regime that
// counts lacks something, or if it is twice as much as there and the curves of an application
// more.
func (r *trial) fuller() (fuller regime.Class, ok bool) {
	own, most := r.had(r.class), 0
	for _, class := range regime.Classes() {
		if had := r.had(class); had > most {
			fuller, most = class, had
		}
	}
	return fuller, most > own && (most == weightOf(r.parts()) || most >= 2*own && most-own >= curvesWeight)
}

// settle measures the machine in a regime, and makes it the one that counts; an empty
// class means whichever lasts.
func (r *trial) settle(ctx context.Context, class regime.Class) error {
	if r.machines[class] == nil {
		machine, err := r.calibration.measure(ctx, class)
		if err != nil {
			return err
		}
		class = regime.Class(machine.Spec.Measurement.Regime.Name)
		r.machines[class] = machine
	}
	r.class = class
	return nil
}

// settleFullest makes the regime with a measured machine count in which most has been
// measured.
func (r *trial) settleFullest() {
	for _, class := range regime.Classes() {
		if r.machines[class] != nil && r.had(class) > r.had(r.class) {
			r.class = class
		}
	}
}

// report tells how much of the budget is spent.
func (r *trial) report(what string) {
	if r.Report != nil {
		r.Report(min(1-time.Until(r.until).Seconds()/r.Budget.Seconds(), 1), what)
	}
}

// party returns an application as a party, on its own CPUs or on the interferer's.
func (r *trial) party(a Application, first bool) *bench.Program {
	p := r.Program(a.Command, r.Source, first)
	p.Fine = true
	return p
}

// measure takes the points of a part, with the target and another party, in a regime: the
// fewest readings of each, or for a visit where it has these.
func (r *trial) measure(ctx context.Context, second modulation.Party, p part, points []modulation.Point, what string, class regime.Class) error {
	r.Parties = [2]modulation.Party{r.target, second}
	precision, budget := r.Precision.WithDefaults(), time.Until(r.until)
	if r.has(class, p) {
		budget = min(budget, time.Duration(p.weight())*visit)
	} else {
		precision.Most = precision.Fewest
	}
	plan := &modulation.Plan{
		Bench: r.Bench(DefaultSlicing), Points: points, Precision: precision, Probe: r.Probe, Outcome: r.outcome,
		Class: class, Patience: mostAway, Budget: max(budget, shortest), Sharing: sharing,
		Report: func(float64) { r.report(what) }, Again: r.Again,
	}
	if err := r.Stage.Run(ctx, plan); err != nil && !errors.Is(err, modulation.ErrRegimeLeft) {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.outcome = plan.Outcome
	// The next program takes a while to start.
	return r.Spin()
}

// collect makes the profiles and the pairs of a regime.
func (r *trial) collect(machine *v1alpha1.MachineProfile) *Tried {
	class := r.class
	c := circumstancesOf(r.outcome, class)
	tried := &Tried{Machine: machine, Class: class, RoundTrip: c.roundTrip, Dropped: c.dropped}
	e := &estimator{readings: r.outcome.Readings[class], session: r.Stage.Session}
	known := map[string]bool{}
	for _, a := range r.Applications {
		m := measured{circumstances: c, solo: r.solo[a.Name], readings: e.probeReadings(a.Name, r.experiment.Pressures)}
		var missing []string
		if m.curves, missing = e.measuredCurves(a.Name, r.experiment.Pressures); len(m.curves) == 0 || len(m.readings) == 0 {
			tried.Missing = append(tried.Missing, a.Name+" under pressure")
			continue
		}
		tried.Missing = append(tried.Missing, missing...)
		profile, err := r.experiment.profile(a, m, machine)
		if err != nil {
			tried.LeftOut = append(tried.LeftOut, err.Error())
			continue
		}
		known[a.Name] = true
		tried.Profiles = append(tried.Profiles, profile)
		if result, ok := e.result(a.Name, control); ok {
			tried.Controls = append(tried.Controls, Pair{Target: a.Name, Result: result})
		}
	}
	for _, target := range r.Applications {
		for _, corunner := range r.Applications {
			if !known[target.Name] || !known[corunner.Name] {
				continue
			}
			result, ok := e.result(target.Name, corunLabel(corunner))
			if !ok {
				tried.Missing = append(tried.Missing, besideName(target.Name, corunner.Name))
				continue
			}
			tried.Pairs = append(tried.Pairs, Pair{Target: target.Name, Corunner: corunner.Name, Result: result})
		}
	}
	return tried
}

// curves returns the measured points of an application; one that is missing is an
// error.
func (e *estimator) curves(application string, pressures []pressure.Measured) ([]v1alpha1.SensitivityCurve, error) {
	curves, missing := e.measuredCurves(application, pressures)
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s was not measured: the placement of the CPUs did not last: try again", missing[0])
	}
	return curves, nil
}

// measuredCurves returns the measured points of an application, and names those that
// are missing.
func (e *estimator) measuredCurves(application string, pressures []pressure.Measured) (curves []v1alpha1.SensitivityCurve, missing []string) {
	for _, p := range pressures {
		r, ok := e.result(application, p.String())
		if !ok {
			missing = append(missing, besideName(application, p.String()))
			continue
		}
		alone, achieved := p.ModulatedBandwidths(r)
		curves = pressure.AddPoint(curves, p, v1alpha1.CurvePoint{
			Level: p.Level, InterfererBytesPerSecond: alone, AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: float64(r.NormalizedPerformance), Repeats: r.Repeats, Spread: r.Spread,
		})
	}
	return pressure.Ordered(curves), missing
}
