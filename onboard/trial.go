package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Trial onboards applications and runs every pair of them for real, by
// modulation and in one placement regime, so that predictions can be compared
// with the truth.
type Trial struct {
	Session *Session
	// Applications need ticks: each is counted by Source.
	Applications []Application
	Source       ticks.Source
	// Wanted are the points of the curve families.
	Wanted []pressure.Pressure
	// Machine says how the machine is measured.
	Machine MachineOptions
	// Precision of each point and each pair.
	Precision modulation.Precision
	// Budget bounds the time of the whole trial.
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
	*stage
	experiment *Experiment
	outcome    *modulation.Outcome
	solo       map[string]v1alpha1.Timing
	class      regime.Class
	// calibration and machines are of the regimes in which the machine was measured.
	calibration *calibration
	machines    map[regime.Class]*v1alpha1.MachineProfile
	// waiting says that only class is measured in; before, readings of whichever regime is
	// there are kept.
	waiting bool
	// seen is how often each regime had been met when class was chosen or last looked at.
	seen  map[regime.Class]int
	until time.Time
	// done and total are weights of what a trial consists of.
	done, total int
}

// Weights of what a trial consists of, about in seconds: an application alone or the
// machine, the curves of an application, and a pair.
const (
	soloWeight  = 1
	curveWeight = 4
	pairWeight  = 1
)

// Run measures until everything is precise or the budget is spent.
func (t *Trial) Run(ctx context.Context) (tried *Tried, err error) {
	s := t.Session
	run := &trial{
		Trial: t, until: time.Now().Add(t.Budget), solo: map[string]v1alpha1.Timing{},
		machines:   map[regime.Class]*v1alpha1.MachineProfile{},
		experiment: &Experiment{Session: s, Applications: t.Applications, Version: t.Machine.Version},
	}
	n := len(t.Applications)
	run.total = soloWeight*(n+1) + curveWeight*n + pairWeight*n*(n+1)/2
	for _, a := range t.Applications {
		run.report(a.Name+" alone", 0)
		o, err := s.runSolo(ctx, a)
		if err != nil {
			return nil, err
		}
		run.solo[a.Name] = v1alpha1.Timing{Seconds: o.Wall.Seconds(), Repeats: 1}
		if err := run.experiment.MeasureDistance(ctx, a, nil); err != nil {
			return nil, err
		}
		run.done += soloWeight
	}
	if run.stage, err = s.openStage(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.stage.close()) }()
	options := t.Machine
	options.Report = func(share float64, what string) { run.report(what, share) }
	if run.calibration, err = run.newCalibration(ctx, options); err != nil {
		return nil, err
	}
	if err := run.settle(ctx, ""); err != nil {
		return nil, err
	}
	run.done += soloWeight
	if run.experiment.Pressures, err = s.MeasurePressures(ctx, pressure.WithProbes(t.Wanted)); err != nil {
		return nil, err
	}
	for pass := 0; pass == 0 || time.Now().Before(run.until) && run.lacks(); pass++ {
		run.waiting = pass > 0
		run.settleFullest()
		run.done = run.total - run.left()
		for i := range t.Applications {
			if pass > 0 && !time.Now().Before(run.until) {
				break
			}
			if err := run.take(ctx, i); err != nil {
				return nil, err
			}
			common, ok := run.rare()
			if !ok {
				continue
			}
			if err := run.settle(ctx, common); err != nil && !errors.Is(err, modulation.ErrRegimeLeft) {
				return nil, err
			}
			if run.waiting {
				break
			}
		}
	}
	run.settleFullest()
	return run.collect(run.machines[run.class]), nil
}

// settle measures the machine in a regime, and makes it the one that counts; an empty
// class means whichever lasts.
func (r *trial) settle(ctx context.Context, class regime.Class) error {
	defer func() { r.seen = r.met() }()
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

// met returns how often the parties of applications met each regime.
func (r *trial) met() map[regime.Class]int {
	met := map[regime.Class]int{}
	if r.outcome != nil {
		for class, trips := range r.outcome.RoundTrips {
			met[class] = len(trips)
		}
	}
	return met
}

// rare returns the regime that should count instead, where the one that counts has
// become rare and there is time for another.
func (r *trial) rare() (common regime.Class, ok bool) {
	now, since := r.met(), map[regime.Class]int{}
	for class, n := range now {
		since[class] = n - r.seen[class]
	}
	weight := 1
	if !r.waiting {
		weight = looksPerBlocks
	}
	if common, ok = commoner(since, r.class, weight); ok {
		return common, time.Until(r.until) > time.Duration(settlingShare*float64(r.Budget))
	}
	if since[r.class] > manyMet {
		r.seen = now
	}
	return "", false
}

const (
	// settlingShare is the part of the budget from which on another regime is not worth
	// the time to measure the machine in it.
	settlingShare = 0.3
	// manyAwaited is from how many looks for a regime it may be called rare; a look
	// without it takes about a quarter of the time of one with it, where it is waited for.
	// manyMet is from how many meetings on earlier ones do not count any more.
	manyAwaited    = 100
	looksPerBlocks = 4
	manyMet        = 50
	// rarity is how many looks without a regime, for each with it, make it rare.
	rarity = 12
)

// commoner returns the most common other class, where class is rare among those met.
// A meeting of another class counts for so many looks.
func commoner(met map[regime.Class]int, class regime.Class, weight int) (common regime.Class, ok bool) {
	others := 0
	for _, c := range regime.Classes() {
		if c == class {
			continue
		}
		others += weight * met[c]
		if met[c] > met[common] {
			common = c
		}
	}
	return common, others >= manyAwaited && others >= rarity*met[class] && 2*weight*met[common] > others
}

// settleFullest makes the regime with a measured machine count in which the least is
// missing.
func (r *trial) settleFullest() {
	best, least := r.class, r.left()
	for _, class := range regime.Classes() {
		if r.machines[class] == nil {
			continue
		}
		r.class = class
		if left := r.left(); left < least {
			best, least = class, left
		}
	}
	r.class = best
}

// report tells how much of the whole is done.
func (r *trial) report(what string, part float64) {
	if r.Report != nil {
		r.Report(min((float64(r.done)+max(0, part))/float64(r.total), 1), what)
	}
}

// points returns those of application i alone with the interferer.
func (r *trial) points(i int, second *stream) []modulation.Point {
	a := r.Applications[i]
	var points []modulation.Point
	for _, p := range r.experiment.Pressures {
		points = append(points, pressurePoint(a.Name, p, second))
	}
	return append(points, controlPoint(a.Name))
}

// lacks reports whether anything is missing in the regime.
func (r *trial) lacks() bool { return r.left() > 0 }

// left returns the weight of what is missing in the regime.
func (r *trial) left() int {
	sum := 0
	for i := range r.Applications {
		if !r.hasCurves(i) {
			sum += curveWeight
		}
		sum += r.leftOfPairs(i)
	}
	return sum
}

func (r *trial) leftOfPairs(i int) int {
	sum := 0
	for j := i; j < len(r.Applications); j++ {
		if !r.hasPair(i, j) {
			sum += pairWeight
		}
	}
	return sum
}

func (r *trial) hasCurves(i int) bool {
	return r.outcome != nil && precise(r.outcome, r.class, r.points(i, &stream{}), r.fewest())
}

func (r *trial) hasPair(i, j int) bool {
	point := pairPoint(r.Applications[i], r.Applications[j])
	return r.outcome != nil && precise(r.outcome, r.class, []modulation.Point{point}, r.fewest())
}

func (r *trial) fewest() int { return r.Precision.WithDefaults().Fewest }

// take measures what is missing of application i: its curves, and the pairs with
// those after it.
func (r *trial) take(ctx context.Context, i int) (err error) {
	curves := !r.hasCurves(i)
	if !curves && r.leftOfPairs(i) == 0 {
		return nil
	}
	a := r.Applications[i]
	target := r.program(a, true)
	if err := target.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.stop()) }()
	if curves {
		second := &stream{interferers: r.interferers}
		if err := r.measure(ctx, target, second, r.points(i, second), curveWeight, a.Name+" under pressure"); err != nil {
			return err
		}
	}
	for j := i; j < len(r.Applications); j++ {
		if r.hasPair(i, j) {
			continue
		}
		if _, rare := r.rare(); rare && r.waiting {
			return nil
		}
		if err := r.takePair(ctx, target, i, j); err != nil {
			return err
		}
	}
	return nil
}

func (r *trial) takePair(ctx context.Context, target *program, i, j int) (err error) {
	a, b := r.Applications[i], r.Applications[j]
	neighbor := r.program(b, false)
	if err := neighbor.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, neighbor.stop()) }()
	return r.measure(ctx, target, neighbor, []modulation.Point{pairPoint(a, b)}, pairWeight, besideName(a.Name, b.Name))
}

// program returns an application as a party, on its own CPUs or on the
// interferer's.
func (r *trial) program(a Application, first bool) *program {
	p := &program{session: r.stage.Session, command: a.Command, source: r.Source, cpus: r.Placement.Target, spinner: r.opposite.interferers}
	if !first {
		p.cpus, p.spinner = r.Placement.Interferer, r.interferers
	}
	return p
}

// measure takes the points with the two parties, as far as the regime and the part
// of the budget that is theirs by weight permit.
func (r *trial) measure(ctx context.Context, first, second modulation.Party, points []modulation.Point, weight int, what string) error {
	r.parties = [2]modulation.Party{first, second}
	// Many points are precise before their budget is spent.
	budget := max(time.Until(r.until)*time.Duration(weight)/time.Duration(max(r.total-r.done, weight))*5/4, time.Second/2)
	plan := &modulation.Plan{
		Bench: r.bench(DefaultSlicing), Points: points, Precision: r.Precision, Probe: r.probe, Outcome: r.outcome,
		Patience: budget, Budget: budget,
		Report: func(done float64) { r.report(what, done*float64(weight)) },
		Again: func(ctx context.Context) error {
			var err error
			for _, party := range r.parties {
				if p, ok := party.(*program); ok {
					err = errors.Join(err, p.again(ctx))
				}
			}
			return err
		},
	}
	if r.waiting {
		plan.Class = r.class
	}
	if err := r.run(ctx, plan); err != nil && !errors.Is(err, modulation.ErrRegimeLeft) {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.outcome = plan.Outcome
	r.done += weight
	return nil
}

// collect makes the profiles and the pairs of a regime.
func (r *trial) collect(machine *v1alpha1.MachineProfile) *Tried {
	class := r.class
	c := circumstancesOf(r.outcome, class)
	tried := &Tried{Machine: machine, Class: class, RoundTrip: c.roundTrip, Dropped: c.dropped}
	e := &estimator{readings: r.outcome.Readings[class], session: r.stage.Session}
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
