package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Ticking has an application measured within its runs, by the rate of its ticks.
type Ticking struct {
	// Source counts the ticks; nil has it found out.
	Source ticks.Source
	// Precision of each point.
	Precision modulation.Precision
	// Budget bounds the time under pressure, but for one whole run; 0 means half a
	// minute.
	Budget time.Duration
	// Class is the only placement regime that counts; empty for whichever lasts.
	Class regime.Class
	// Learned is told how the work of the application is counted, once it has been
	// held to whole runs; may be nil.
	Learned func(Counted)
	// Report is told the share of the work that is done, 0 to 1, and what runs
	// now; may be nil.
	Report func(share float64, what string)
}

// ErrNoTicks is wrapped when no count of an application's work can be used.
var ErrNoTicks = errors.New("no usable ticks")

const (
	// soloPatience is the time after which no further run alone is made to learn
	// how equal ticks are.
	soloPatience = 4 * time.Second
	// mostSolos bounds these runs. The first trajectoryRuns are made all the same,
	// unless they take longer than longestTrajectory each.
	mostSolos         = 5
	trajectoryRuns    = 3
	longestTrajectory = 20 * time.Second
	// unequalTicks is the variation from which ticks are made equal: a good deal
	// above what noise alone shows.
	unequalTicks = 0.05
	// fewestTicks is the fewest changes of a count in a run that is to be divided.
	fewestTicks = 50
)

// ticked measures one application by its ticks.
type ticked struct {
	*Onboarding
	*stage
	experiment *Experiment
	// solo holds the times of the runs alone.
	solo []float64
	// perSecond is how often the count changes while the program runs alone.
	perSecond float64
	// slow says that slices are too short for the whole effect of a pressure; empty
	// where they are not.
	slow string
	// share is the part of the work before the points in the cache, 0 to 1.
	share float64
}

// beforeCache is the part of the work before the points in the cache, where there are any.
const beforeCache = 0.75

// runTicked is Run by ticks. The error wraps ErrNoTicks where there are none.
func (b *Onboarding) runTicked(ctx context.Context) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	begin, apart := time.Now(), time.Duration(0)
	t := &ticked{Onboarding: b, experiment: &Experiment{Session: b.Session, Applications: []Application{b.Application}, Version: b.Machine.Version}, share: 1}
	if _, shared := t.holding(b.Ticking.Class); shared {
		t.share = beforeCache
	}
	if t.stage, err = b.Session.openStage(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.stage.close()) }()
	target := &program{
		session: b.Session, command: b.Application.Command, cpus: b.Session.Placement.Target, spinner: t.opposite.interferers,
	}
	t.tell(0, b.Application.Name+" alone")
	if err := t.choose(ctx, target); err != nil {
		return nil, nil, err
	}
	if err := t.measureTraffic(ctx); err != nil {
		return nil, nil, err
	}
	t.tell(0.15, "the interferer alone")
	if t.experiment.Pressures, err = b.Session.MeasurePressures(ctx, pressure.WithProbes(b.Wanted)); err != nil {
		return nil, nil, err
	}
	machine = b.Known
	if machine == nil {
		options := b.Machine
		options.Report = func(share float64, what string) { t.tell(0.2+0.2*share, what) }
		measuring := time.Now()
		machine, err = t.measureMachine(ctx, options)
		if err != nil {
			return nil, nil, err
		}
		apart = time.Since(measuring)
	}
	u, err := t.newUnderPressure(target)
	if err != nil {
		return nil, nil, err
	}
	if err := t.modulate(ctx, u, machine); err != nil {
		return nil, nil, err
	}
	outcome := u.plan.Outcome
	class := outcome.Complete(b.Ticking.Precision.WithDefaults().Fewest)
	if b.Source == nil && lacksProbes(machine, class) {
		if class, machine, err = t.sameAsProbes(ctx, u, machine, class); err != nil {
			return nil, nil, err
		}
	}
	profile, err = t.profile(ctx, outcome, class, machine)
	if err != nil {
		return nil, nil, err
	}
	profile.Spec.Measurement.Ticks = target.source.Name()
	if err := t.addInCache(ctx, target, class, time.Since(begin)-apart, profile); err != nil {
		return nil, nil, err
	}
	if len(profile.Spec.Cache) > 0 && machine.Spec.SharedCache == nil {
		machine = machine.DeepCopy()
		machine.Spec.SharedCache = b.Session.sharedCache()
	}
	if t.Ticking.Learned != nil {
		t.Ticking.Learned(Counted{t.Application, target.source, t.perSecond, target.equal})
	}
	return profile, machine, nil
}

func (t *ticked) tell(share float64, what string) {
	if t.Ticking.Report != nil {
		t.Ticking.Report(share*t.share, what)
	}
}

// measureTraffic measures the application's traffic by counters, where there are
// any, and the application as a co-runner, where that is farther from the memory.
func (t *ticked) measureTraffic(ctx context.Context) error {
	if err := t.experiment.MeasureDistance(ctx, t.Application, t.Source); err != nil {
		return err
	}
	if t.Source == nil {
		return nil
	}
	traffic, err := t.experiment.MeasureTraffic(ctx, t.Application, t.Source)
	if err != nil {
		return err
	}
	t.experiment.Traffic = map[string]*profiler.Summary{t.Application.Name: traffic}
	return nil
}

// choose finds the ticks of the program, with runs alone.
func (t *ticked) choose(ctx context.Context, p *program) error {
	if t.Ticking.Source != nil {
		p.source = t.Ticking.Source
		return t.learn(ctx, p)
	}
	p.source = ticks.Page{}
	err := t.learn(ctx, p)
	if !usableOther(err) {
		return err
	}
	t.tell(0.05, "what counts the work of "+t.Application.Name)
	candidates, err := t.discover(ctx, p)
	if err != nil {
		return err
	}
	err = errNoCandidate
	for _, c := range candidates {
		p.source = c.Source
		if err = t.learn(ctx, p); !usableOther(err) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: neither counts of its own, nor instructions, nor a function that it calls or what it reads and writes tell its progress (%w)", t.Application.Name, ErrNoTicks, err)
}

// errNoCandidate is why a program without steady counts has no ticks.
var errNoCandidate = errors.New("nothing grows often and steadily enough")

// usableOther reports whether another source may do where one failed.
func usableOther(err error) bool {
	return errors.Is(err, ErrNoTicks) || errors.Is(err, ticks.ErrUnavailable)
}

// mostCandidates bounds the sources that are tried after a discovery.
const mostCandidates = 3

// discover looks for counts that grow steadily while the program runs beside
// spinning CPUs.
func (t *ticked) discover(ctx context.Context, p *program) (found []ticks.Candidate, err error) {
	err = t.control(ctx, func() error {
		if err := t.interferers.request(pressure.SettingsOf(spinning)); err != nil {
			return err
		}
		found, err = ticks.Discover(ctx, func(ctx context.Context) (int, func(), error) {
			process, err := t.launcher.Start(ctx, p.command, p.cpus, t.Placement.MemoryNode)
			if err != nil {
				return 0, nil, err
			}
			return process.PID, func() { process.Kill(); <-process.Done }, nil
		})
		return err
	})
	if errors.Is(err, ticks.ErrNothingCounts) {
		err = nil
	}
	return found[:min(len(found), mostCandidates)], err
}

// learn runs the program alone until it is known how equal its ticks are.
func (t *ticked) learn(ctx context.Context, p *program) error {
	p.equal = nil
	var runs [][]modulation.Progress
	for begin := time.Now(); len(runs) == 0 || len(runs) < mostSolos && time.Since(begin)+lastOf(t.solo) < soloPatience ||
		len(runs) < trajectoryRuns && lastOf(t.solo) < longestTrajectory; {
		r, err := t.record(ctx, p)
		if err != nil {
			return err
		}
		if r.wall < tooShort {
			return errTooShort(t.Application.Name, r.wall)
		}
		t.solo = append(t.solo, r.wall.Seconds())
		t.perSecond = r.perSecond()
		if changes := t.perSecond * r.wall.Seconds(); changes < fewestTicks {
			return fmt.Errorf("%w: %s: the count changed %.0f times in %v: want %d times, so that the run can be divided: give it more work, or have it count smaller units (output that is not to a terminal may be buffered: stdbuf -oL)", ErrNoTicks, p.source.Name(), changes, r.wall.Round(time.Millisecond), fewestTicks)
		}
		runs = append(runs, r.progress)
		if len(runs) == 1 && modulation.Unsteadiness(r.progress) <= unequalTicks {
			return nil
		}
	}
	trajectory, err := modulation.NewTrajectory(runs)
	if err == nil && trajectory.Variation > unequalTicks {
		p.equal = trajectory
	}
	return nil
}

func lastOf(seconds []float64) time.Duration {
	if len(seconds) == 0 {
		return 0
	}
	return time.Duration(seconds[len(seconds)-1] * float64(time.Second))
}

// record runs the program once, alone, on the thread that switches.
func (t *ticked) record(ctx context.Context, p *program) (r recording, err error) {
	err = t.control(ctx, func() error {
		if err := t.interferers.request(pressure.SettingsOf(spinning)); err != nil {
			return err
		}
		r, err = p.record(ctx)
		return err
	})
	return r, err
}

// probePart is how much more precise than the application's performance the speed of a
// probe is measured, from which traffic is inferred: a tenth of the sustained bandwidth
// slows it by some points only.
const probePart = 0.5

// defaultBudget is enough for steady ticks: others show what they can in it, and where
// others hold the CPUs some blocks of every point are taken all the same.
const defaultBudget = 30 * time.Second

// calibratedPatience is how long a placement for which the probes are calibrated is
// waited for in all, before they are calibrated for another.
const calibratedPatience = 5 * time.Second

// underPressure is a program beside every pressure.
type underPressure struct {
	target *program
	second *stream
	plan   *modulation.Plan
}

// newUnderPressure says how the program is measured, for one whole run at least.
func (t *ticked) newUnderPressure(target *program) (*underPressure, error) {
	second := &stream{interferers: t.interferers}
	t.parties = [2]modulation.Party{target, second}
	slicing, err := modulation.SlicingFor(t.perSecond)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoTicks, target.source.Name(), err)
	}
	plan := &modulation.Plan{
		Bench: t.bench(slicing), Precision: t.Ticking.Precision, Probe: t.probe, Again: target.again,
		Whole:  func() bool { return target.completed > 0 },
		Class:  t.Ticking.Class,
		Budget: cmp.Or(t.Ticking.Budget, defaultBudget),
		Least:  leastCalibrated,
		Report: func(done float64) { t.tell(0.4+0.5*done, t.Application.Name+" under pressure") },
	}
	for _, p := range t.experiment.Pressures {
		point := pressurePoint(t.Application.Name, p, second)
		point.Compare[1].StandardError = probePart * t.Ticking.Precision.WithDefaults().StandardError
		plan.Points = append(plan.Points, point)
	}
	plan.Points = append(plan.Points, controlPoint(t.Application.Name))
	return &underPressure{target, second, plan}, nil
}

// modulate measures the program, preferably in a placement for which the probes are
// calibrated.
func (t *ticked) modulate(ctx context.Context, u *underPressure, machine *v1alpha1.MachineProfile) (err error) {
	if err := u.target.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.target.stop()) }()
	if u.plan.Class == "" && t.Source == nil {
		u.plan.Class, u.plan.MostWaited = calibratedPlacement(machine), calibratedPatience
	}
	err = t.run(ctx, u.plan)
	if errors.Is(err, modulation.ErrRegimeLeft) && u.plan.Class != t.Ticking.Class {
		u.plan.Class = ""
		err = t.run(ctx, u.plan)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	return t.compareLengths(ctx, u.plan, u.second)
}

// modulateIn measures the program in a placement, and does not wait long for it.
func (t *ticked) modulateIn(ctx context.Context, u *underPressure, class regime.Class) (err error) {
	if err := u.target.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.target.stop()) }()
	u.plan.Class, u.plan.MostWaited, u.plan.Patience = class, 0, calibratedPatience
	if err := t.run(ctx, u.plan); err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	return nil
}

// sameAsProbes returns a placement in which the program was measured and the machine, which
// is returned with it, has probes. It starts from one for which they are missing: either they
// are calibrated for it, or the program is measured again in one for which they are there.
func (t *ticked) sameAsProbes(ctx context.Context, u *underPressure, machine *v1alpha1.MachineProfile, class regime.Class) (regime.Class, *v1alpha1.MachineProfile, error) {
	probing, err := t.newProbing(ctx, t.Machine, class)
	if err != nil {
		return "", nil, err
	}
	calibrated := calibratedPlacement(machine)
	if calibrated == "" {
		if err := probing.take(ctx); err != nil {
			return "", nil, err
		}
		machine, err = probing.addTo(machine)
		return class, machine, err
	}
	probing.plan.Patience = calibratedPatience
	n, err := firstPlacement(ctx, probing.take, func(ctx context.Context) error { return t.modulateIn(ctx, u, calibrated) })
	if err != nil {
		return "", nil, err
	}
	if n == 0 {
		machine, err = probing.addTo(machine)
		return class, machine, err
	}
	return calibrated, machine, nil
}

const (
	// longestCompared is the length of slices from which there is nothing to
	// compare: four times as long is longer than most effects take.
	longestCompared = 10 * time.Millisecond
	// comparedBlocks is how many long blocks are compared.
	comparedBlocks = 24
	// comparedBudget bounds their time.
	comparedBudget = 4 * time.Second
)

// compareLengths measures the strongest pressure once more in slices of four times
// the length, while the parties are still there.
func (t *ticked) compareLengths(ctx context.Context, short *modulation.Plan, second *stream) error {
	if short.Bench.Slicing.Length > longestCompared {
		return nil
	}
	class := short.Outcome.Complete(short.Precision.Fewest)
	p := t.strongest(&estimator{readings: short.Outcome.Readings[class], session: t.stage.Session})
	slow, err := t.longer(ctx, t.stage, short, pressurePoint(t.Application.Name, p, second), lengths{
		class: class, wait: true, fewest: comparedBlocks / 2, most: comparedBlocks, budget: comparedBudget,
		beside: p.String(), shown: "the curves show a part of it; --whole-runs measures all",
	})
	t.slow = slow
	return err
}

// lengths says how slices of two lengths are compared.
type lengths struct {
	class regime.Class
	// wait has only blocks of the class taken.
	wait bool
	// fewest and most bound the long blocks, budget their time.
	fewest, most int
	budget       time.Duration
	// beside names the pressure, and shown what of its effect is shown.
	beside, shown string
}

// longer measures a point of a plan again in slices of four times the length. It returns a
// warning where the result is another one; empty where it is not, or there was no time.
func (t *ticked) longer(ctx context.Context, g *stage, short *modulation.Plan, point modulation.Point, l lengths) (string, error) {
	long := &modulation.Plan{
		Bench: g.bench(short.Bench.Slicing.Longer()), Points: []modulation.Point{point}, Probe: g.probe, Again: short.Again,
		Precision: modulation.Precision{StandardError: short.Precision.StandardError, Fewest: l.fewest, Most: l.most},
		Budget:    l.budget,
	}
	if l.wait {
		long.Class = l.class
	}
	err := g.run(ctx, long)
	if errors.Is(err, modulation.ErrRegimeLeft) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	name := point.Compare[0].Name
	readings := long.Outcome.Readings[l.class][name]
	if len(readings) < l.fewest {
		return "", nil
	}
	c := modulation.CheckLengths(short.Outcome.Readings[l.class][name], readings, t.Random)
	if !c.Slow {
		return "", nil
	}
	return fmt.Sprintf("slices: beside %s the performance is %.3f ± %.3f in slices of %v and %.3f ± %.3f in slices of %v: the effect of a pressure takes longer than a slice, and %s",
		l.beside, c.Short.Performance, c.Short.StandardError, short.Bench.Slicing.Length, c.Long.Performance, c.Long.StandardError, long.Bench.Slicing.Length, l.shown), nil
}

// strongest returns the pressure beside which the application loses most.
func (t *ticked) strongest(e *estimator) pressure.Measured {
	var strongest pressure.Measured
	lowest := math.Inf(1)
	for _, p := range t.experiment.Pressures {
		if r, ok := e.result(t.Application.Name, p.String()); ok && float64(r.NormalizedPerformance) < lowest {
			strongest, lowest = p, float64(r.NormalizedPerformance)
		}
	}
	return strongest
}

// profile makes the profile, after a check against whole runs.
func (t *ticked) profile(ctx context.Context, outcome *modulation.Outcome, class regime.Class, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	e := &estimator{readings: outcome.Readings[class], session: t.stage.Session}
	name := t.Application.Name
	curves, err := e.curves(name, t.experiment.Pressures)
	if err != nil {
		return nil, err
	}
	check, err := t.check(ctx, e)
	if err != nil {
		return nil, err
	}
	timing := v1alpha1.Timing{Seconds: stats.Median(t.solo), Repeats: len(t.solo)}
	if sd := stats.Spread(t.solo); sd != nil {
		relative := *sd / timing.Seconds
		timing.RelativeSpread = &relative
	}
	profile, err := t.experiment.profile(t.Application, measured{
		circumstances: circumstancesOf(outcome, class), solo: timing, curves: curves, readings: e.probeReadings(name, t.experiment.Pressures),
	}, machine)
	if err != nil {
		return nil, err
	}
	if r, ok := e.result(name, control); ok && r.Spread != nil {
		c := v1alpha1.Control{NormalizedPerformance: float64(r.NormalizedPerformance), StandardError: r.StandardError}
		profile.Spec.Measurement.Control = &c
		if math.Abs(c.NormalizedPerformance-1) > controlTolerance*max(c.StandardError, leastControlError) {
			profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
				"control: with nothing beside it the performance came out as %.3f ± %.3f instead of 1: the curves may be off by as much", c.NormalizedPerformance, c.StandardError))
		}
	}
	if worst := worstError(curves); worst > impreciseFactor*t.Ticking.Precision.WithDefaults().StandardError {
		profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
			"ticks: the standard error of some points is %.1f points: the ticks are few or unequal; --progress-function or another --progress flag may name better ones", 100*worst))
	}
	if t.slow != "" {
		profile.Spec.Warnings = append(profile.Spec.Warnings, t.slow)
	}
	if check != "" {
		profile.Spec.Warnings = append(profile.Spec.Warnings, check)
	}
	return profile, nil
}

const (
	// controlTolerance is how many standard errors a control may miss 1 by.
	controlTolerance = 3
	// leastControlError keeps a standard error that is small by luck from failing a
	// control.
	leastControlError = 0.002
)

// impreciseFactor is how many times the wanted standard error is worth a warning.
const impreciseFactor = 2.5

// worstError returns the largest standard error of points.
func worstError(curves []v1alpha1.SensitivityCurve) float64 {
	worst := 0.0
	for _, c := range curves {
		for _, p := range c.Points {
			if p.Spread != nil && p.Repeats > 0 {
				worst = max(worst, *p.Spread/math.Sqrt(float64(p.Repeats)))
			}
		}
	}
	return worst
}
