package demo

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/samples"
)

// NewSample runs one built-in sample application: what the demo
// onboards, each in a process of its own.
func NewSample(a *cli.App) *cobra.Command {
	var scale float64
	cmd := &cobra.Command{
		Use:    "sample NAME",
		Short:  "Run a built-in sample application once",
		Hidden: true,
		Args:   cli.WantArgs(cobra.ExactArgs(1), "one of "+joinSamples()),
		RunE: func(cmd *cobra.Command, args []string) error {
			sample, err := samples.ByName(args[0])
			if err != nil {
				return cli.UsageError(err)
			}
			if err := checkScale(scale); err != nil {
				return err
			}
			result, err := sample.Run(cmd.Context(), scale)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: %g %s, checksum %x\n", sample.Name, result.Work, result.Unit, result.Checksum)
			return err
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", 1, "amount of work; 1 is about a quarter of a second")
	return cmd
}

func checkScale(scale float64) error {
	if !(scale > 0 && scale <= samples.MaxScale) {
		return cli.Usagef("--scale %v: want more than 0, up to %d", scale, samples.MaxScale)
	}
	return nil
}

// joinSamples lists the names for messages.
func joinSamples() string {
	var names []string
	for _, s := range samples.All() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// sampleApplications are the built-in samples as commands of this program.
func sampleApplications(scale float64) ([]onboard.Application, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to run its samples: %w", err)
	}
	var all []onboard.Application
	for _, s := range samples.All() {
		all = append(all, onboard.Application{
			Name:    s.Name,
			Command: launch.Command{Args: []string{self, "sample", "--scale", fmt.Sprint(scale), s.Name}},
		})
	}
	return all, nil
}
