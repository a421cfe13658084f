package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// state is what has been measured so far: one file for the machine, each
// application, each pair and each comparison.
type state struct{ folder string }

// onboarded is an application with its profile.
type onboarded struct {
	Name    string
	Profile *v1alpha1.ApplicationProfile
	// Ticks, Steps, Slicing and Equal are those of onboard.Counted.
	Ticks   string
	Steps   float64
	Slicing modulation.Slicing
	Equal   *modulation.Trajectory
	Seconds float64 // that onboarding took
}

func newOnboarded(c onboard.Counted, p *v1alpha1.ApplicationProfile, seconds float64) *onboarded {
	p = p.DeepCopy()
	p.Spec.Command = nil // it names paths of this machine
	return &onboarded{Name: c.Application.Name, Profile: p, Ticks: c.Source.Name(), Steps: c.Steps, Slicing: c.Slicing, Equal: c.Equal, Seconds: seconds}
}

// counted returns the application as it was learned.
func (o *onboarded) counted(a onboard.Application) (onboard.Counted, error) {
	source, err := ticks.Named(o.Ticks)
	return onboard.Counted{Application: a, Source: source, Steps: o.Steps, Slicing: o.Slicing, Equal: o.Equal}, err
}

// pair is what was measured of two applications beside each other.
type pair struct {
	First, Second string
	Class         regime.Class
	Outcome       *modulation.Outcome
	// Forward is the first beside the second, Backward the second beside the first;
	// nil where too little was measured.
	Forward, Backward *result
	Seconds           float64
}

// result is a performance with its standard error.
type result struct {
	Performance, StandardError float64
	Readings                   int
}

// comparison is a program beside a strong pressure, measured by whole runs and by
// modulation, again and again.
type comparison struct {
	Name, Pressure string
	// Whole and Modulated are the repeats.
	Whole, Modulated []result
	// Tries is how many pairs of whole runs there were, in any placement.
	Tries int
	// WholeSeconds and ModulatedSeconds are the times of one.
	WholeSeconds, ModulatedSeconds float64
	// Calls is how many calls per second are counted, 0 where the ticks cost nothing,
	// and CallSeconds what one costs.
	Calls, CallSeconds float64
}

func openState(folder string) (*state, error) {
	return &state{filepath.Join(folder, "state")}, os.MkdirAll(filepath.Join(folder, "state"), 0o755)
}

// load reads what was saved under a name; false where nothing was.
func (s *state) load(name string, into any) (bool, error) {
	data, err := os.ReadFile(filepath.Join(s.folder, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

// save replaces what was saved under a name, all at once.
func (s *state) save(name string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	path := filepath.Join(s.folder, name+".json")
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// loadAll reads everything that was saved under a prefix.
func loadAll[T any](s *state, prefix string) ([]*T, error) {
	files, err := filepath.Glob(filepath.Join(s.folder, prefix+"*.json"))
	if err != nil {
		return nil, err
	}
	var all []*T
	for _, name := range files {
		one := new(T)
		if _, err := s.load(filepath.Base(name[:len(name)-len(".json")]), one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// The names of what is saved.
const (
	machineFile     = "machine"
	orderFile       = "order"
	onboardedPrefix = "app-"
	pairPrefix      = "pair-"
	comparedPrefix  = "whole-"
)

func pairFile(first, second string) string { return pairPrefix + first + "+" + second }
