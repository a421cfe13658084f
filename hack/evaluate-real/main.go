// Evaluate-real holds predictions against real co-runs: it onboards programs
// from Debian packages and the built-in samples, runs every ordered pair of
// them, and writes the measurements (apps.csv, curves.csv, pairs.csv), the
// profiles, and a table of errors per method.
//
//	go run ./hack/evaluate-real --output results
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/units"
)

const name = "evaluate-real"

func main() { study.Main(name, run) }

func run(ctx context.Context, args []string) error {
	s := study.Study{Name: name}
	flags := s.Flags()
	only := flags.String("only", "", "comma-separated names of the programs to use (default: all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	applications, err := prepare(ctx, filepath.Join(s.Output, "inputs"), *only)
	if err != nil {
		return err
	}
	verified, err := s.Measure(ctx, study.Measurement{Machine: "evaluated", Applications: applications, Pressures: pressures()})
	if err != nil || verified == nil {
		return err
	}
	if err := study.WriteProfiles(filepath.Join(s.Output, "profiles"), verified); err != nil {
		return err
	}
	if err := writeDataset(s.Output, verified); err != nil {
		return err
	}
	return writeTables(s.Output, verified)
}

// pressures are the points of the curve families. Lines in random order are
// measured at fewer points: their curves lie close to straight lines.
func pressures() []onboard.Pressure {
	all := onboard.Grid([]units.ReadShare{0.5, 0.75, 1}, onboard.DefaultLevels, interferer.Sequential)
	all = append(all, onboard.Grid([]units.ReadShare{1}, []float64{0.5, 1}, interferer.Random)...)
	return append(all, onboard.Grid([]units.ReadShare{0.5}, []float64{1}, interferer.Random)...)
}

// prepare makes the inputs and chooses the programs.
func prepare(ctx context.Context, folder, only string) ([]onboard.Application, error) {
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
	if err := makeInputs(ctx, work); err != nil {
		return nil, err
	}
	var chosen []onboard.Application
	var missing []string
	for _, p := range programs(work, bandmate) {
		if only != "" && !strings.Contains(","+only+",", ","+p.name+",") {
			continue
		}
		if _, err := exec.LookPath(p.args[0]); err != nil {
			missing = append(missing, p.debian)
			continue
		}
		chosen = append(chosen, onboard.Application{Name: p.name, Command: onboard.Command{Args: p.args, Dir: work, Timeout: time.Minute}})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("programs are missing: apt-get install -y --no-install-recommends %s", strings.Join(missing, " "))
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only %q names no program", only)
	}
	return chosen, nil
}

// buildSamples builds the program that holds the samples, unless an earlier run
// did: every slice measures the same.
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
