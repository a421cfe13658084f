package onboard

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
)

// Watch has an onboarding measure all pressures within each run, by the rate of
// progress that the application's output reports. The interferer's setting
// changes from interval to interval, and every other interval is unpressed.
type Watch struct {
	// Pattern matches once per unit of progress on a line of the output; a
	// first group that is a number is the progress so far.
	Pattern *regexp.Regexp
	// Ended is called with the number of intervals and runs that were used, and
	// with the intervals left out by reason; may be nil.
	Ended func(intervals, runs int, lost string)
}

const (
	// shortestInterval is long compared with the change of a setting.
	shortestInterval = 50 * time.Millisecond
	// intervalArrivals is how many arrivals an interval has alone: a few more
	// than it needs.
	intervalArrivals = leastArrivals + 5
	// intervalPatience is how many times its planned length an interval may take
	// to have enough arrivals.
	intervalPatience = 10
	// mostRunsPerRepeat bounds the runs where intervals are always left out.
	mostRunsPerRepeat = 4
	// intervalPoll is how often arrivals are counted.
	intervalPoll = 2 * time.Millisecond
)

// pace is the progress of an application alone.
type pace struct {
	wall     time.Duration
	arrivals int
}

// interval returns the length of an interval with which the pressures and their
// controls fit into a run, and the number of runs in which each pressure has its
// turn. A run too short for three intervals is an error.
func (p pace) interval(pressures int) (each time.Duration, runs int, err error) {
	shortest := shortestInterval
	if p.arrivals > 0 {
		shortest = max(shortest, time.Duration(intervalArrivals*float64(p.wall)/float64(p.arrivals)))
	}
	if p.arrivals == 0 || p.wall < 3*shortest {
		return 0, 0, fmt.Errorf("progress arrived %d times in %v, too seldom to divide the run: want %d times in %v at least: have it print smaller units, give it more work, or, where it buffers its output, run it under stdbuf -oL",
			p.arrivals, p.wall.Round(time.Millisecond), 3*intervalArrivals, 3*shortestInterval)
	}
	slots := 2*pressures + 1
	each = max(shortest, p.wall/time.Duration(slots))
	// A run of n intervals presses (n-1)/2 times.
	pressed := max((int(p.wall/each)-1)/2, 1)
	return each, (pressures + pressed - 1) / pressed, nil
}

// measurePace runs the application once, alone.
func (b *Onboarding) measurePace(ctx context.Context) (pace, error) {
	m := newMeter(b.Watch.Pattern)
	observation, err := b.Session.runSolo(ctx, Application{b.Application.Name, metered(b.Application.Command, m)})
	if err != nil {
		return pace{}, err
	}
	if m.arrivals() == 0 {
		return pace{}, fmt.Errorf("%s: %w", b.Application.Name, m.Unmatched(b.Application.Command.String()))
	}
	return pace{observation.Wall, m.arrivals()}, nil
}

// metered returns the command with its output also going to the meter.
func metered(c Command, m *meter) Command {
	if c.Output == nil {
		c.Output = m
	} else {
		c.Output = io.MultiWriter(m, c.Output)
	}
	return c
}

// watchedSampling measures all pressures within each run, by the rate of progress.
type watchedSampling struct {
	*Onboarding
	experiment *Experiment
	// each is the length of an interval; in runs of them every pressure has its
	// turn.
	each time.Duration
	runs int
	// rotation are the pressures that have not had their turn in this round.
	rotation []MeasuredPressure
	read     watched
}

func newWatchedSampling(b *Onboarding, e *Experiment, alone pace) (*watchedSampling, error) {
	each, runs, err := alone.interval(len(e.Pressures))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Application.Name, err)
	}
	return &watchedSampling{Onboarding: b, experiment: e, each: each, runs: runs}, nil
}

func (w *watchedSampling) begin() ([]Condition, Precision) {
	conditions, precision := w.soloConditions(w.experiment)
	for k := range w.runs * w.Precision.withDefaults().MinRepeats {
		conditions = append(conditions, w.condition(k))
	}
	return conditions, precision
}

func (w *watchedSampling) next(o *Outcome, _ *v1alpha1.MachineProfile) (*Condition, error) {
	precision := w.Precision.withDefaults()
	intervals := o.intervals(w.Application.Name)
	w.read = readIntervals(intervals)
	if taken := len(intervals); w.read.wants(w.experiment.Pressures, precision) && taken < mostRunsPerRepeat*w.runs*precision.MaxRepeats {
		return new(w.condition(taken)), nil
	}
	if w.Watch.Ended != nil {
		w.Watch.Ended(w.read.kept(), len(intervals), w.read.lost())
	}
	if missing := w.read.missing(w.experiment.Pressures); len(missing) > 0 {
		return nil, fmt.Errorf("%s: after %d runs no interval tells the performance beside %s (left out: %s): measure fewer --levels, have it print smaller units of progress, raise --max-repeats, or, where the pace changed because other programs run, repeat the measurement on a quieter machine",
			w.Application.Name, len(intervals), strings.Join(missing, "; "), w.read.lost())
	}
	return nil, nil
}

func (w *watchedSampling) profile(o *Outcome, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	profile, err := w.experiment.profileOf(w.Application, o, machine, w.read.curves(w.experiment.Pressures))
	if err != nil {
		return nil, err
	}
	profile.Spec.Measurement.Progress = w.Watch.Pattern.String()
	if lost := w.read.lost(); lost != "" {
		profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
			"progress: %d intervals of %d runs were read, others left out (%s)", w.read.kept(), len(o.intervals(w.Application.Name)), lost))
	}
	return profile, nil
}

// condition is one watched run, in which the pressures take turns.
func (w *watchedSampling) condition(run int) Condition {
	return Condition{
		Target: w.Application.Name, Beside: fmt.Sprintf("pressures in turn (run %d)", run+1),
		Run: func(ctx context.Context) (Observation, error) {
			m := newMeter(w.Watch.Pattern)
			var intervals []Interval
			e, err := w.Session.runModulated(ctx, metered(w.Application.Command, m), func(ctx context.Context) (err error) {
				intervals, err = w.takeTurns(ctx, m)
				return err
			})
			return Observation{Wall: e.wall, Intervals: intervals}, err
		},
	}
}

// takeTurns alternates control and pressure until the context ends, which cuts
// the last interval short.
func (w *watchedSampling) takeTurns(ctx context.Context, m *meter) ([]Interval, error) {
	var all []Interval
	control := MeasuredPressure{Setting: interferer.Setting{Mode: interferer.Spin}}
	for turn := 0; ctx.Err() == nil; turn++ {
		name, pressure := "", control
		if turn%2 == 1 {
			pressure = w.nextPressure()
			name = pressure.String()
		}
		if err := w.Session.apply(context.Background(), pressure.settings()); err != nil {
			return nil, err
		}
		pause(ctx, warmup)
		before := w.Session.interferers.counters()
		m.begin()
		w.await(ctx, m)
		interval := m.interval()
		interval.Beside = name
		if name != "" {
			interval.Achieved = w.Session.interferers.since(before).Traffic
		}
		all = append(all, interval)
	}
	return all, nil
}

// await returns when the interval is long enough and has enough arrivals, or
// when it has taken too long to get them.
func (w *watchedSampling) await(ctx context.Context, m *meter) {
	begin := time.Now()
	pause(ctx, w.each)
	for ctx.Err() == nil && m.arrivals() < leastArrivals && time.Since(begin) < intervalPatience*w.each {
		pause(ctx, intervalPoll)
	}
}

// nextPressure returns every pressure once a round, in a new random order.
func (w *watchedSampling) nextPressure() MeasuredPressure {
	if len(w.rotation) == 0 {
		w.rotation = slices.Clone(w.experiment.Pressures)
		w.Session.Random.Shuffle(len(w.rotation), func(i, j int) {
			w.rotation[i], w.rotation[j] = w.rotation[j], w.rotation[i]
		})
	}
	next := w.rotation[0]
	w.rotation = w.rotation[1:]
	return next
}

// intervals returns those of a target's watched runs, in order.
func (c *collection) intervals(target string) [][]Interval {
	var runs [][]Interval
	for _, s := range c.samples {
		if s.Target == target && s.Intervals != nil {
			runs = append(runs, s.Intervals)
		}
	}
	return runs
}
