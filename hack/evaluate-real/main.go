// Evaluate-real checks predictions against real co-runs: it onboards programs
// from Debian packages and the built-in samples, runs every ordered pair of
// them, and writes the measurements (apps.csv, curves.csv, pairs.csv), the
// profiles, and a table of errors per method.
//
//	go run ./hack/evaluate-real --output results
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/store"
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
	output    string
	only      string
	repeats   int
	points    int
	slice     time.Duration
	placement string
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("evaluate-real", flag.ContinueOnError)
	flags.StringVar(&o.output, "output", "evaluate-real", "folder for the data set, the profiles and the tables; what an earlier run left there is gone on with")
	flags.StringVar(&o.only, "only", "", "comma-separated names of the programs to use (default: all)")
	flags.IntVar(&o.repeats, "repeats", 7, "repeats of each pair")
	flags.IntVar(&o.points, "points", 3, "repeats of the points of the curves and of the cache probes")
	flags.DurationVar(&o.slice, "slice", time.Hour, "stop after that time, to be gone on with; tables are made of what there is")
	flags.StringVar(&o.placement, "placement", string(regime.SameComplex), "placement of the two CPUs whose samples are evaluated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.repeats < 2 || o.points < 1 {
		return fmt.Errorf("--repeats %d, --points %d: want 2 or more, for the noise floor, and 1 or more", o.repeats, o.points)
	}
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	applications, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	measured, err := measure(ctx, o, applications)
	if err != nil {
		return err
	}
	if measured == nil {
		fmt.Fprintln(os.Stderr, "not one whole round yet: run it again")
		return nil
	}
	if err := keepProfiles(o.output, measured.Verified); err != nil {
		return err
	}
	if err := writeDataset(o.output, measured); err != nil {
		return err
	}
	return writeTables(o.output, measured)
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
	if err := buildSamples(ctx, bandmate); err != nil {
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

// buildSamples builds the program that holds the samples, if it is not there:
// what is gone on with has to be the same.
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
