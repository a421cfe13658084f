// Evaluate-real checks predictions against real co-runs: it onboards programs
// from Debian packages and the built-in samples, runs every ordered pair of
// them, and writes the measurements (apps.csv, curves.csv, pairs.csv), the
// profiles, and a table of errors per method.
//
//	go run ./hack/evaluate-real --output results
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

func main() {
	interferer.RunIfChild()
	onboard.RunIfGuard()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate-real:", err)
		os.Exit(1)
	}
}

type options struct {
	output  string
	only    string
	repeats int
	resume  bool
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("evaluate-real", flag.ContinueOnError)
	flags.StringVar(&o.output, "output", "evaluate-real", "folder for the data set, the profiles and the tables")
	flags.StringVar(&o.only, "only", "", "comma-separated names of the programs to use (default: all)")
	flags.IntVar(&o.repeats, "repeats", 3, "repeats of each condition")
	flags.BoolVar(&o.resume, "resume", false, "go on with the samples of an interrupted run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.repeats < 2 {
		return fmt.Errorf("--repeats %d: want 2 or more, for the noise floor", o.repeats)
	}
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	applications, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	verified, err := measure(ctx, o, applications)
	if err != nil {
		return err
	}
	if err := keepProfiles(o.output, verified); err != nil {
		return err
	}
	if err := writeDataset(o.output, verified); err != nil {
		return err
	}
	return writeTables(o.output, verified)
}

// prepare makes the inputs and chooses the programs that are installed.
func prepare(ctx context.Context, o options) ([]onboard.Application, error) {
	work, err := filepath.Abs(filepath.Join(o.output, "inputs"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	bandmate := filepath.Join(work, "bandmate")
	if err := buildSamples(ctx, bandmate, o.resume); err != nil {
		return nil, err
	}
	if err := makeInputs(ctx, work); err != nil {
		return nil, err
	}
	var chosen []onboard.Application
	var missing []string
	for _, p := range programs(work, bandmate) {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+p.name+",") {
			continue
		}
		if _, err := exec.LookPath(p.args[0]); err != nil {
			missing = append(missing, p.debian)
			continue
		}
		chosen = append(chosen, onboard.Application{Name: p.name, Command: onboard.Command{Args: p.args, Dir: work, Timeout: time.Minute}})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("programs are missing: install them with: apt-get install -y --no-install-recommends %s", strings.Join(missing, " "))
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only %q names no program", o.only)
	}
	return chosen, nil
}

// buildSamples builds the program that holds the samples; a resumed run goes on
// with the one it has.
func buildSamples(ctx context.Context, path string, resume bool) error {
	if _, err := os.Stat(path); err == nil && resume {
		return nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/bandmate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building bandmate, for its samples: %w", err)
	}
	return nil
}

func measure(ctx context.Context, o options, applications []onboard.Application) (verified *onboard.Verified, err error) {
	session, err := onboard.Open(ctx, onboard.Placing{MaxDuration: 6 * time.Hour})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	var grid []onboard.Pressure
	for _, p := range profiler.CalibrationGrid(false) {
		grid = append(grid, onboard.Pressure{ReadShare: p.ReadShare, Level: p.Level, Pattern: interferer.Sequential})
	}
	v := &onboard.Verification{
		Experiment: &onboard.Experiment{Session: session, Applications: applications},
		Wanted: onboard.Grid(
			[]units.ReadShare{0.5, 0.75, 1}, onboard.DefaultLevels, interferer.Sequential),
		Machine: onboard.MachineOptions{
			Name: "evaluated", ReadShares: []units.ReadShare{0.5, 0.75, 1}, ProbeGrid: grid,
			Precision: onboard.Precision{MinRepeats: o.repeats, MaxRepeats: o.repeats},
			Reporter:  &lineReporter{began: time.Now()},
		},
	}
	journal, err := openJournal(o, applications, v)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	v.Keep = journal.Keep
	return v.Run(ctx)
}

// openJournal keeps the samples, and takes over those of an interrupted run.
func openJournal(o options, applications []onboard.Application, v *onboard.Verification) (*onboard.Journal, error) {
	path := filepath.Join(o.output, "samples.jsonl")
	var names []string
	for _, a := range applications {
		names = append(names, a.Name)
	}
	fingerprint, err := onboard.Fingerprint(names, v.Wanted)
	if err != nil {
		return nil, err
	}
	if !o.resume {
		return onboard.CreateJournal(path, fingerprint)
	}
	journal, samples, err := onboard.ResumeJournal(path, fingerprint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: start without --resume", err)
	}
	v.Restored = samples
	return journal, err
}

func keepProfiles(output string, v *onboard.Verified) error {
	folder, err := store.Open(filepath.Join(output, "profiles"))
	if err != nil {
		return err
	}
	if err := folder.Put(v.Machine); err != nil {
		return err
	}
	for _, p := range v.Profiles {
		if err := folder.Put(p); err != nil {
			return err
		}
	}
	return nil
}

// lineReporter prints a line every half minute.
type lineReporter struct{ began, printed time.Time }

const lineInterval = 30 * time.Second

// Progress implements onboard.Reporter.
func (r *lineReporter) Progress(done, total int, next string) {
	if now := time.Now(); now.Sub(r.printed) >= lineInterval {
		r.printed = now
		fmt.Fprintf(os.Stderr, "%s: %d of about %d samples, now %s\n", now.Sub(r.began).Round(time.Second), done, total, next)
	}
}
