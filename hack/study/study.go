// Package study holds what programs that compare predictions with real co-runs share:
// their flags, the measurement in alternating rounds, which an interrupted program
// resumes, and the files they write.
package study

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/units"
)

// Main calls run with the arguments of the program and a context that a signal
// ends, and exits.
func Main(name string, run func(context.Context, []string) error) {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1) //nolint:gocritic // the main of every study
	}
}

// Study is one program's measurement.
type Study struct {
	Name string
	// Output is the folder of the results; it also keeps the samples.
	Output string
	// Repeats is how often each condition is measured, once in each round.
	Repeats int
	// Slice is the time after which the program stops, to be run again.
	Slice time.Duration
}

// Flags returns the flags that every study has.
func (s *Study) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	flags.StringVar(&s.Output, "output", s.Name, "folder of the results; what an earlier run left there is gone on with")
	flags.IntVar(&s.Repeats, "repeats", 5, "repeats of each condition")
	flags.DurationVar(&s.Slice, "slice", time.Hour, "stop after that time; run again to go on")
	return flags
}

// Validate checks the values of the flags.
func (s *Study) Validate() error {
	if s.Repeats < 2 || s.Slice <= 0 {
		return fmt.Errorf("--repeats %d, --slice %v: want 2 or more, and a time", s.Repeats, s.Slice)
	}
	return nil
}

// Measurement says what a study measures.
type Measurement struct {
	// Machine is the name of the machine's profile.
	Machine      string
	Applications []onboard.Application
	// Pressures are the points of the curve families.
	Pressures []pressure.Pressure
	// Pairs says which ordered pairs are run; nil runs all.
	Pairs func(target, corunner string) bool
	// Then, if set, measures something else in the same session.
	Then func(context.Context, *bench.Session, *onboard.Verified) error
}

// Measure onboards the applications and runs the pairs, round after round, so
// that the repeats of a condition lie minutes apart. It returns nil when the
// slice is over first.
func (s *Study) Measure(ctx context.Context, m Measurement) (*onboard.Verified, error) {
	sliced, stop := context.WithTimeout(ctx, s.Slice)
	defer stop()
	verified, err := s.measure(sliced, m)
	if err != nil && sliced.Err() != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s: the slice is over: run it again to go on\n", s.Name)
		return nil, nil
	}
	return verified, err
}

func (s *Study) measure(ctx context.Context, m Measurement) (verified *onboard.Verified, err error) {
	if err := os.MkdirAll(s.Output, 0o755); err != nil {
		return nil, err
	}
	session, err := bench.Open(ctx, bench.Placing{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	experiment := &onboard.Experiment{Session: session, Applications: m.Applications, Version: s.Name}
	if err := s.readPressures(ctx, experiment, m.Pressures); err != nil {
		return nil, err
	}
	journal, samples, err := s.openJournal(experiment)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	keep := func(sample sampling.Sample) error {
		samples = append(samples, sample)
		return journal.Keep(sample)
	}
	var known *v1alpha1.MachineProfile
	for round := range s.Repeats {
		v := &onboard.Verification{
			Experiment: experiment, Pairs: m.Pairs, Wanted: m.Pressures, Keep: keep, Restored: samples,
			Machine: onboard.MachineOptions{
				Name: m.Machine, ReadShares: []units.ReadShare{0.5, 0.75, 1}, ProbeGrid: pressure.CalibrationGrid(true), Version: s.Name,
			},
			Precision: sampling.Precision{MinRepeats: round + 1, MaxRepeats: round + 1}, Reporter: reporter{round + 1}, Known: known,
		}
		if verified, err = v.Run(ctx); err != nil {
			return nil, err
		}
		known = v.Known
	}
	if m.Then != nil {
		err = m.Then(ctx, session, verified)
	}
	return verified, err
}

// readPressures measures the settings of the interferer once: the samples of
// every slice are taken beside the same.
func (s *Study) readPressures(ctx context.Context, e *onboard.Experiment, wanted []pressure.Pressure) error {
	path := filepath.Join(s.Output, "pressures.json")
	data, err := os.ReadFile(path)
	if err == nil {
		return json.Unmarshal(data, &e.Pressures)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.Pressures, err = e.Session.MeasurePressures(ctx, pressure.WithProbes(wanted)); err != nil {
		return err
	}
	if data, err = json.MarshalIndent(e.Pressures, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// openJournal keeps the samples, and takes over those of earlier slices.
func (s *Study) openJournal(e *onboard.Experiment) (*sampling.Journal, []sampling.Sample, error) {
	path := filepath.Join(s.Output, "samples.jsonl")
	var names []string
	for _, a := range e.Applications {
		names = append(names, a.Name)
	}
	fingerprint, err := sampling.Fingerprint(names, e.Pressures)
	if err != nil {
		return nil, nil, err
	}
	journal, samples, err := sampling.ResumeJournal(path, fingerprint)
	if errors.Is(err, fs.ErrNotExist) {
		journal, err = sampling.CreateJournal(path, fingerprint)
	}
	return journal, samples, err
}

// reporter prints the progress of a round now and then.
type reporter struct{ round int }

// Left implements sampling.Reporter.
func (r reporter) Left(least, _ int, next string) {
	if least%20 == 0 {
		fmt.Fprintf(os.Stderr, "%s round %d, %d left: %s\n", time.Now().Format(time.TimeOnly), r.round, least, next)
	}
}
