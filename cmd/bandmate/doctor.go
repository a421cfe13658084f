package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/report"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can measure, and what would make it better",
		Long: `Looks at counters, permissions, CPUs, memory, huge pages, frequency, noise and
placement, and names the command or setting that would mend what is missing.
Exits with 4 when nothing can be measured here.`,
		Example: `  bandmate doctor
  bandmate doctor -o json`,
		Args: wantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	env, err := doctor.Host()
	if err != nil {
		return err
	}
	examined := doctor.Examine(ctx, env)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := addSources(ctx, &examined); err != nil {
		return err
	}
	if err := a.print(examined, func(w io.Writer) error { return writeFindings(w, examined, a.canvas()) }); err != nil {
		return err
	}
	if !examined.Measurable {
		return fmt.Errorf("%w: see the findings above", errNotMeasurable)
	}
	return nil
}

func writeFindings(w io.Writer, r doctor.Report, o report.Options) error {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(report.Paragraph(fmt.Sprintf("%-12s ", f.State), f.Title+": "+f.Detail, o))
		if f.Remedy != "" {
			b.WriteString(report.Paragraph(fmt.Sprintf("%-12s → ", ""), f.Remedy, o))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
