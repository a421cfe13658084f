package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/collective"
	"bandmate.dev/bandmate/capability/measure"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/topology"
)

// raceResult is `capability race -o json`.
type raceResult struct {
	// machineSource is that of the modeled costs; empty without them.
	machineSource
	Operation collective.Operation `json:"operation"`
	Threads   int                  `json:"threads"`
	CPUs      []int                `json:"cpus"`
	Results   []raceRow            `json:"results"`
	Warnings  []string             `json:"warnings"`
}

// raceRow is one contestant.
type raceRow struct {
	Name string `json:"name"`
	// Modeled is absent where no equation covers it.
	Modeled          *float64 `json:"modeledNanoseconds,omitempty"`
	Nanoseconds      float64  `json:"nanoseconds"`
	RelativeInterval float64  `json:"relativeInterval"`
	Repeats          int      `json:"repeats"`
}

// capabilityRaceFlags are the flags of capability race.
type capabilityRaceFlags struct {
	machine   capableMachine
	operation string
	threads   int
	medians   medianFlags
}

func newCapabilityRaceCommand(a *cli.App) *cobra.Command {
	var f capabilityRaceFlags
	cmd := &cobra.Command{
		Use:   "race",
		Short: "Run barriers, broadcasts or reductions on this machine",
		Long: `Compares the tree or barrier that the model of a machine chooses with flat,
binary and binomial trees, a central counter, and Go's package sync. Each runs
with one thread on each CPU. The table shows measured and modeled times.

More threads than CPUs are refused: they would race the scheduler.`,
		Example: `  bandmate capability race --operation barrier
  bandmate capability race --operation reduce --threads 8 --machine knl-7210-quadrant -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "operation"); err != nil {
				return err
			}
			return raceCapability(cmd.Context(), a, f)
		},
	}
	f.machine.add(cmd)
	f.machine.addContention(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.operation, "operation", "", "barrier, broadcast or reduce")
	cli.Values(flags, "operation", "barrier", "broadcast", "reduce")
	flags.IntVar(&f.threads, "threads", 0, "threads, one per CPU (default: all CPUs)")
	f.medians.add(flags, 30*time.Second)
	return cmd
}

func raceCapability(ctx context.Context, a *cli.App, f capabilityRaceFlags) error {
	cpus, err := f.on()
	if err != nil {
		return err
	}
	options := measure.RaceOptions{CPUs: cpus, Repeats: f.medians.repeats(), Budget: f.medians.budget}
	if err := options.Validate(); err != nil {
		return cli.UsageError(err)
	}
	r := raceResult{Operation: collective.Operation(f.operation), Threads: len(cpus), CPUs: cpus, Warnings: []string{}}
	machine, err := f.known(a, &r)
	if err != nil {
		return err
	}
	contestants, err := collective.Contestants(r.Operation, machine, len(cpus))
	if err != nil {
		return cli.UsageError(err)
	}
	medians, err := cli.WithProgress(a, func(progress cli.ProgressFunc) ([]measure.Median, error) {
		options.Progress = progress
		return measure.Race(ctx, options, contestants)
	})
	if err != nil {
		return refusedCPU(err)
	}
	r.add(contestants, medians)
	a.Warn(r.Warnings)
	return a.Print(r, func(w io.Writer) error { return writeRace(w, r, a.Canvas()) })
}

// on are the CPUs of the threads.
func (f *capabilityRaceFlags) on() ([]int, error) {
	machine, err := topology.ReadHost()
	if err != nil {
		return nil, err
	}
	cpus, err := f.medians.on(machine)
	if err != nil {
		return nil, err
	}
	switch {
	case f.threads < 0:
		return nil, cli.Usagef("--threads %d: want 1 or more", f.threads)
	case f.threads > len(cpus):
		return nil, fmt.Errorf("%w: %d threads on %d CPUs, and each takes one: choose others with --cpus, or fewer threads", cli.ErrNotMeasurable, f.threads, len(cpus))
	case f.threads > 0:
		cpus = cpus[:f.threads]
	}
	return cpus, withinQuota(cpus)
}

// known returns the parameters of the model; nil, with a warning, where no machine was
// named and this one is not measured.
func (f *capabilityRaceFlags) known(a *cli.App, r *raceResult) (*capability.Parameters, error) {
	m, p, err := f.machine.parameters(a)
	switch unnamed := f.machine.name == ""; {
	case unnamed && errors.Is(err, store.ErrNotFound):
		r.Warnings = append(r.Warnings, "nothing is modeled: this machine is not measured: bandmate capability measure")
		return nil, nil
	case unnamed && errors.Is(err, capability.ErrNotCovered):
		r.Warnings = append(r.Warnings, fmt.Sprintf("nothing is modeled: %v; measure it: bandmate capability measure", err))
		return nil, nil
	case err != nil:
		return nil, err
	}
	r.machineSource = sourceOf(m)
	if p.Contention == nil && r.Operation != collective.BarrierOperation {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no tree is modeled: the contention of machine %s is not known: give --contention", m.Name))
	}
	return &p, nil
}

func (r *raceResult) add(contestants []collective.Contestant, medians []measure.Median) {
	for i, c := range contestants {
		row := raceRow{Name: c.Name, Nanoseconds: medians[i].Value, RelativeInterval: medians[i].RelativeInterval, Repeats: medians[i].Repeats}
		if c.Modeled != nil {
			row.Modeled = new(float64(*c.Modeled))
		}
		if doubt := medians[i].Doubt(); doubt != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s", c.Name, doubt))
		}
		r.Results = append(r.Results, row)
	}
}

func writeRace(w io.Writer, r raceResult, o report.Options) error {
	if r.Machine != "" {
		r.write(w)
	}
	fmt.Fprintf(w, "operation  %s, %d threads on CPUs %s\n\n", r.Operation, r.Threads, cpuset.New(r.CPUs...))
	t := cli.Table("algorithm", ">modeled", ">measured", ">95% interval", ">repeats")
	for _, row := range r.Results {
		modeled := report.Text(report.Missing)
		if row.Modeled != nil {
			modeled = costCell(*row.Modeled)
		}
		t.Add(append([]report.Cell{report.Text(row.Name), modeled, costCell(row.Nanoseconds)}, withinCells(&row.RelativeInterval, row.Repeats)...)...)
	}
	return t.Write(w, o)
}
