package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// machineName is that of the machine's profile.
const machineName = "evaluated"

// survey is the whole measurement: the machine, every application alone, under
// every pressure, beside the cache probes, and beside every application.
type survey struct {
	options
	session    *onboard.Session
	experiment *onboard.Experiment
	machine    *v1alpha1.MachineProfile
	cacheMap   []cachePoint
	samples    []onboard.Sample
}

// measured is what a survey knows.
type measured struct {
	*onboard.Verified
	// rounds is how many whole rounds it is made of.
	rounds int
	// halves are the pairs by the samples of the even and of the odd rounds;
	// nil with less than two rounds.
	halves [2][]onboard.Pair
	// probes are what the cache probes keep of their speed, by application.
	probes map[string][]probeReading
}

// pressures are the points of the curve families. Lines in random order are
// measured at fewer points: their curves lie close to straight lines.
func pressures() []onboard.Pressure {
	all := onboard.Grid([]units.ReadShare{0.5, 0.75, 1}, onboard.DefaultLevels, interferer.Sequential)
	all = append(all, onboard.Grid([]units.ReadShare{1}, []float64{0.5, 1}, interferer.Random)...)
	return append(all, onboard.Grid([]units.ReadShare{0.5}, []float64{1}, interferer.Random)...)
}

// measure takes samples for one slice of time and evaluates all there are; nil
// before the end of the first round.
func measure(ctx context.Context, o options, applications []onboard.Application) (m *measured, err error) {
	until := time.Now().Add(o.slice)
	session, err := onboard.Open(ctx, onboard.Placing{MaxDuration: o.slice + time.Hour})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	s := &survey{options: o, session: session, experiment: &onboard.Experiment{Session: session, Applications: applications}}
	if err := s.readPressures(ctx); err != nil {
		return nil, err
	}
	if err := s.readMachine(ctx); err != nil {
		return nil, err
	}
	if err := s.readCacheMap(ctx); err != nil {
		return nil, err
	}
	journal, err := s.openJournal()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	r := newRounds(s.conditions())
	r.tag, r.class, r.repeats, r.points = session.Tag, regime.Class(o.placement), o.repeats, min(o.points, o.repeats)
	r.restore(s.samples)
	r.keep = func(sample onboard.Sample) error {
		s.samples = append(s.samples, sample)
		return journal.Keep(sample)
	}
	if _, err := r.run(ctx, until); err != nil {
		return nil, err
	}
	if r.complete() == 0 {
		return nil, nil
	}
	return s.evaluate(ctx, r.complete())
}

// readPressures measures the settings of the interferer once: the samples of
// all slices have to be taken beside the same.
func (s *survey) readPressures(ctx context.Context) error {
	path := filepath.Join(s.output, "pressures.json")
	data, err := os.ReadFile(path)
	if err == nil {
		return json.Unmarshal(data, &s.experiment.Pressures)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, a := range s.experiment.Applications {
		if _, err := s.experiment.CheckDuration(ctx, a); err != nil {
			return err
		}
	}
	if s.experiment.Pressures, err = s.session.MeasurePressures(ctx, onboard.WithProbes(pressures())); err != nil {
		return err
	}
	if data, err = json.MarshalIndent(s.experiment.Pressures, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// readMachine measures the machine once, in the placement that is evaluated.
func (s *survey) readMachine(ctx context.Context) error {
	folder, err := store.Open(filepath.Join(s.output, "profiles"))
	if err != nil {
		return err
	}
	if s.machine, err = folder.Machine(machineName); err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var grid []onboard.Pressure
	for _, p := range profiler.CalibrationGrid(false) {
		grid = append(grid, onboard.Pressure{ReadShare: p.ReadShare, Level: p.Level, Pattern: interferer.Sequential})
	}
	const attempts = 5
	for range attempts {
		s.machine, err = s.session.MeasureMachine(ctx, onboard.MachineOptions{
			Name: machineName, ReadShares: []units.ReadShare{0.5, 0.75, 1}, ProbeGrid: grid,
			Precision: onboard.Precision{MinRepeats: 5, MaxRepeats: 5},
		})
		if err != nil {
			return err
		}
		if s.machine.Spec.Measurement.Regime.Name == s.placement {
			return folder.Put(s.machine)
		}
	}
	return fmt.Errorf("the CPUs are not placed as %s: try again later, or choose another --placement", s.placement)
}

// openJournal keeps the samples, and takes over those of earlier slices.
func (s *survey) openJournal() (*onboard.Journal, error) {
	path := filepath.Join(s.output, "samples.jsonl")
	var names []string
	for _, a := range s.experiment.Applications {
		names = append(names, a.Name)
	}
	fingerprint, err := onboard.Fingerprint(names, s.experiment.Pressures)
	if err != nil {
		return nil, err
	}
	journal, samples, err := onboard.ResumeJournal(path, fingerprint)
	if errors.Is(err, fs.ErrNotExist) {
		return onboard.CreateJournal(path, fingerprint)
	}
	s.samples = samples
	return journal, err
}

// conditions are those of onboarding, the cache probes, and every pair.
func (s *survey) conditions() []onboard.Condition {
	all := append(s.experiment.Conditions(), s.probeConditions()...)
	return append(all, s.pairConditions()...)
}

func (s *survey) pairConditions() []onboard.Condition {
	var all []onboard.Condition
	for _, target := range s.experiment.Applications {
		for _, corunner := range s.experiment.Applications {
			all = append(all, onboard.Condition{
				Target: target.Name, Beside: besideApplication(corunner),
				Run: func(ctx context.Context) (onboard.Observation, error) {
					observation, _, err := s.session.RunBesideCommand(ctx, target.Command, ended(corunner.Command))
					return observation, err
				},
			})
		}
	}
	return all
}

const applicationPrefix = "application "

// besideApplication cannot be mistaken for a pressure.
func besideApplication(a onboard.Application) string { return applicationPrefix + a.Name }

func isPair(c onboard.Condition) bool { return strings.HasPrefix(c.Beside, applicationPrefix) }

// ended is a command as a co-runner: asked to end, it is killed at once. Some
// programs take half a second to end in order.
func ended(c onboard.Command) onboard.Command {
	c.Args = append([]string{"bash", "-c", `trap 'kill -9 0' TERM; "$@" & wait`, "bash"}, c.Args...)
	return c
}
