// Evaluate-real compares predictions with real co-runs: it onboards programs from
// Debian packages and the built-in samples, measures pairs of them in both directions
// by pausing one beside the other, and writes the measurements (apps.csv, curves.csv,
// pairs.csv), the profiles, and tables of errors per method (real.md). It then times
// whole runs beside a strong pressure and measures the same by modulation, again and
// again (modulation.md). An interrupted run is resumed.
//
//	go run ./hack/evaluate-real --output results
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
)

const name = "evaluate-real"

func main() { study.Main(name, run) }

// trial is one run of the program.
type trial struct {
	output string
	until  time.Time
	// compare is the part of the time for whole runs.
	compare time.Duration

	programs []program
	session  *bench.Session
	*state
}

func run(ctx context.Context, args []string) error {
	e := &trial{}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&e.output, "output", name, "folder of the results; what an earlier run left there is gone on with")
	budget := flags.Duration("budget", 50*time.Minute, "time for all measurements, about")
	flags.DurationVar(&e.compare, "compare", 5*time.Minute+15*time.Second, "part of it for the comparison with whole runs")
	only := flags.String("only", "", "comma-separated names of the programs to use (default: all)")
	tables := flags.Bool("tables", false, "measure nothing: write the tables of what was measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e.until = time.Now().Add(*budget)
	var err error
	if e.state, err = openState(e.output); err != nil {
		return err
	}
	if !*tables {
		if err := e.measure(ctx, *only); err != nil {
			return err
		}
	}
	return e.write()
}

// measure takes all measurements.
func (e *trial) measure(ctx context.Context, only string) (err error) {
	if e.programs, err = prepare(ctx, filepath.Join(e.output, "inputs"), only); err != nil {
		return err
	}
	if e.session, err = bench.Open(ctx, bench.Placing{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.session.Close()) }()
	e.log("onboarding")
	if err := e.onboard(ctx); err != nil {
		return err
	}
	modulator, err := onboard.OpenModulator(ctx, e.session)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, modulator.Close()) }()
	e.log("pairs")
	if err := e.measurePairs(ctx, modulator); err != nil {
		return err
	}
	e.log("whole runs")
	return e.compareWholeRuns(ctx, modulator)
}

func (e *trial) log(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, a...))
}

// prepare makes the inputs and chooses the programs.
func prepare(ctx context.Context, folder, only string) ([]program, error) {
	work, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	bandmate := filepath.Join(work, "bandmate")
	if err := buildSamples(ctx, bandmate); err != nil {
		return nil, err
	}
	var chosen []program
	var missing []string
	names := strings.Split(only, ",")
	for _, p := range programs(work, bandmate) {
		if only != "" && !slices.Contains(names, p.name) {
			continue
		}
		if _, err := exec.LookPath(p.args[0]); err != nil {
			missing = append(missing, p.debian)
			continue
		}
		chosen = append(chosen, p)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("programs are missing: apt-get install -y --no-install-recommends %s", strings.Join(missing, " "))
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only %q names no program", only)
	}
	return chosen, makeInputs(ctx, work)
}

// buildSamples builds the program that holds the samples, unless an earlier run
// did: every run measures the same.
func buildSamples(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/bandmate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building bandmate, for its samples: %w", err)
	}
	return nil
}
