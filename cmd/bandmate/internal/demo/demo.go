// Package demo has the command demo and the sample applications that it measures.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/units"
)

// New returns the command demo.
func New(a *cli.App) *cobra.Command {
	var scale float64
	var keep bool
	var placement cli.PlacementFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Measure, predict and verify on this machine, in a minute",
		Long: `Measures this machine and six built-in sample applications, predicts how every
pair of them slows down, runs every pair for real, and shows predicted beside
measured. Needs nothing installed and changes nothing.`,
		Example: `  bandmate demo
  bandmate demo -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), a, scale, keep, placement)
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", 3, "amount of work per sample run; more is longer and less noisy")
	cmd.Flags().BoolVar(&keep, "keep", false, "store the profiles of the machine and of the samples")
	placement.Add(cmd.Flags())
	return cmd
}

// levels, precision and budget keep the demo to a minute.
var (
	levels    = []float64{0.5, 1}
	shares    = []units.ReadShare{0.5, 1}
	precision = modulation.Precision{StandardError: 0.008, Fewest: 12, Most: 240}
)

const budget = 55 * time.Second

func run(ctx context.Context, a *cli.App, scale float64, keep bool, placement cli.PlacementFlags) (err error) {
	if err := checkScale(scale); err != nil {
		return err
	}
	name, err := cli.MachineName("")
	if err != nil {
		name = "demo"
	}
	placing, err := placement.Placing()
	if err != nil {
		return err
	}
	applications, err := sampleApplications(scale)
	if err != nil {
		return err
	}
	var folder *store.Store
	if keep {
		if folder, err = a.OpenStore(); err != nil {
			return err
		}
		if err := folder.CheckWritable(); err != nil {
			return err
		}
	}
	begin := time.Now()
	session, err := bench.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.Note(session.Placement.Explanation)
	progress := a.NewProgress()
	defer progress.Done()
	trial := &onboard.Trial{
		Session: session, Applications: applications, Source: ticks.Page{},
		Wanted: pressure.Grid(shares, levels, "sequential"), Precision: precision, Budget: budget - time.Since(begin), Report: progress.Share,
		Machine: cli.MachineOptions(name, true),
	}
	tried, err := trial.Run(ctx)
	if err != nil {
		return err
	}
	progress.Done()
	if keep {
		if err := keepProfiles(folder, tried); err != nil {
			return err
		}
	}
	result, err := NewResult(tried)
	if err != nil {
		return err
	}
	return a.Print(result, func(w io.Writer) error { return write(a, w, result) })
}

func keepProfiles(folder *store.Store, v *onboard.Tried) error {
	if err := cli.PutMachine(folder, v.Machine); err != nil {
		return err
	}
	for _, p := range v.Profiles {
		if err := folder.Put(p); err != nil {
			return fmt.Errorf("storing the profile of %s: %w", p.Name, err)
		}
	}
	return nil
}
