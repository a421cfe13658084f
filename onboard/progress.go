package onboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
)

// Watch has an onboarding measure all pressures within each run, by the rate at
// which the application's output tells of progress: the interferer's setting
// changes from interval to interval, and every other interval is unpressed.
type Watch struct {
	// Pattern matches once per unit of progress on a line of the output; a
	// first group that is a number is the progress so far.
	Pattern *regexp.Regexp
	// Ended is told how many intervals of how many runs were used, and how many
	// were left out for which reasons; may be nil.
	Ended func(intervals, runs int, lost string)
}

const (
	// shortestInterval is long against the change of a setting.
	shortestInterval = 50 * time.Millisecond
	// intervalArrivals is how many arrivals an interval has alone: a few more
	// than it needs.
	intervalArrivals = leastArrivals + 5
	// intervalPatience is how much longer than planned an interval may take to
	// have enough arrivals.
	intervalPatience = 10
	// mostRunsPerRepeat gives up where intervals are always left out.
	mostRunsPerRepeat = 4
	// intervalPoll is how often arrivals are counted.
	intervalPoll = 2 * time.Millisecond
)

// pace is how an application made progress alone.
type pace struct {
	wall     time.Duration
	arrivals int
}

// interval is how long an interval should last so that pressures of that many
// and their controls fit into a run, and in how many runs each of them gets its
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

// watchedRun is an onboarding at work that watches progress.
type watchedRun struct {
	*Onboarding
	experiment *Experiment
	each       time.Duration
	// rotation are the pressures whose turn it is.
	rotation []MeasuredPressure
}

// measurePace runs the application once, alone.
func (b *Onboarding) measurePace(ctx context.Context) (pace, error) {
	m := newMeter(b.Watch.Pattern)
	observation, err := b.Session.RunBeside(ctx, metered(b.Application.Command, m), interferer.Setting{Mode: interferer.Spin})
	if err != nil {
		return pace{}, fmt.Errorf("%s alone: %w", b.Application.Name, err)
	}
	if m.arrivals() == 0 {
		return pace{}, fmt.Errorf("%s: %w", b.Application.Name, m.unmatched(b.Application.Command.String()))
	}
	return pace{observation.Wall, m.arrivals()}, nil
}

// metered is a command whose output the meter reads too.
func metered(c Command, m *meter) Command {
	if c.Output == nil {
		c.Output = m
	} else {
		c.Output = io.MultiWriter(m, c.Output)
	}
	return c
}

// runWatched is Run where the progress is watched.
func (b *Onboarding) runWatched(ctx context.Context, experiment *Experiment, p pace) (profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, err error) {
	each, runs, err := p.interval(len(experiment.Pressures))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Application.Name, err)
	}
	calibration := b.Session.NewCalibration(b.Machine.ProbeGrid)
	defer func() { err = errors.Join(err, calibration.Close()) }()
	precision := b.Precision.withDefaults()
	plan := b.chosenPlan(experiment, calibration)
	w := &watchedRun{Onboarding: b, experiment: experiment, each: each}
	for k := range runs * precision.MinRepeats {
		plan.Conditions = append(plan.Conditions, w.condition(k))
	}
	for {
		outcome, err := plan.Run(ctx)
		if err != nil {
			return nil, nil, err
		}
		read := readIntervals(outcome.intervals(b.Application.Name))
		taken := len(outcome.intervals(b.Application.Name))
		if read.wants(experiment.Pressures, precision) && taken < mostRunsPerRepeat*runs*precision.MaxRepeats {
			plan.Conditions = append(plan.Conditions, w.condition(taken))
			continue
		}
		if b.Watch.Ended != nil {
			b.Watch.Ended(read.kept(), taken, read.lost())
		}
		if missing := read.missing(experiment.Pressures); len(missing) > 0 {
			return nil, nil, fmt.Errorf("%s: after %d runs no interval tells the performance beside %s (left out: %s): measure fewer --levels, have it print smaller units of progress, or raise --max-repeats",
				b.Application.Name, taken, strings.Join(missing, "; "), read.lost())
		}
		if machine, err = b.complete(ctx, calibration, outcome); err != nil {
			return nil, nil, err
		}
		profile, err = experiment.profile(b.Application, outcome, machine, read.curves(experiment.Pressures))
		if err != nil {
			return nil, nil, err
		}
		profile.Spec.Measurement.Progress = b.Watch.Pattern.String()
		if lost := read.lost(); lost != "" {
			profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf(
				"progress: %d intervals of %d runs were read, others left out (%s)", read.kept(), taken, lost))
		}
		return profile, machine, nil
	}
}

// condition is one watched run.
func (w *watchedRun) condition(run int) Condition {
	return Condition{
		Target: w.Application.Name, Beside: fmt.Sprintf("pressures in turn (run %d)", run+1),
		Run: w.run,
	}
}

// run executes the application once, while the pressures take turns.
func (w *watchedRun) run(ctx context.Context) (Observation, error) {
	m := newMeter(w.Watch.Pattern)
	s := w.Session
	var e execution
	var intervals []Interval
	_, err := s.during(ctx, interferer.Setting{Mode: interferer.Spin}, func(ctx context.Context) error {
		turns, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			var err error
			intervals, err = w.takeTurns(turns, m)
			done <- err
		}()
		var err error
		e, err = s.launcher.run(ctx, metered(w.Application.Command, m), s.Placement.Target, s.Placement.MemoryNode)
		stop()
		if fault := <-done; err == nil {
			err = fault
		}
		return err
	})
	return Observation{Wall: e.wall, Intervals: intervals}, err
}

// takeTurns alternates control and pressure until the context ends. The last
// interval is what there was of it.
func (w *watchedRun) takeTurns(ctx context.Context, m *meter) ([]Interval, error) {
	var all []Interval
	control := MeasuredPressure{Setting: interferer.Setting{Mode: interferer.Spin}}
	for turn := 0; ctx.Err() == nil; turn++ {
		name, pressure := "", control
		if turn%2 == 1 {
			pressure = w.nextPressure()
			name = pressure.String()
		}
		if err := w.Session.exert(pressure.force()); err != nil {
			return nil, w.Session.goneOr(err)
		}
		pause(ctx, settle)
		before := w.Session.mark()
		m.begin()
		w.await(ctx, m)
		interval := m.interval()
		interval.Beside = name
		if name != "" {
			interval.Achieved = w.Session.since(before).Traffic
		}
		all = append(all, interval)
	}
	return all, nil
}

// await returns when the interval is long enough and has enough arrivals, or
// has no hope of them.
func (w *watchedRun) await(ctx context.Context, m *meter) {
	begin := time.Now()
	pause(ctx, w.each)
	for ctx.Err() == nil && m.arrivals() < leastArrivals && time.Since(begin) < intervalPatience*w.each {
		pause(ctx, intervalPoll)
	}
}

// nextPressure gives every pressure its turn, in a new random order each round.
func (w *watchedRun) nextPressure() MeasuredPressure {
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

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// intervals are those of a target's watched runs, in order.
func (c *collection) intervals(target string) [][]Interval {
	var runs [][]Interval
	for _, s := range c.samples {
		if s.Target == target && s.Intervals != nil {
			runs = append(runs, s.Intervals)
		}
	}
	return runs
}
