package measure

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/report"
)

// doctorFlags say what to look at.
type doctorFlags struct {
	verify       bool
	source, cpus string
}

// NewDoctor returns the command doctor.
func NewDoctor(a *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can measure, and how to enable the rest",
		Long: `Looks at counters, permissions, CPUs, memory, huge pages, frequency, noise and
placement, and names the command or setting that would mend what is missing.
Exits with 4 when nothing can be measured here.

With --verify it makes memory traffic of known bandwidth and read share instead,
has the counters of the memory controllers count it, and compares. Where they
disagree it names the likely cause, such as double counting, missing channels or
a wrong scale, and exits with 1; without such counters it exits with 4. It takes
some 12 seconds on an otherwise idle machine.`,
		Example: `  bandmate doctor
  bandmate doctor -o json
  bandmate doctor --verify
  bandmate doctor --verify --source imc --cpus 2 -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.verify {
				return runVerify(cmd.Context(), a, f)
			}
			if f.source != "" || f.cpus != "" {
				return cli.Usagef("--source and --cpus go with --verify")
			}
			return runDoctor(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.verify, "verify", false, "check the counters of the memory controllers against known traffic")
	flags.StringVar(&f.source, "source", "", "the counters to verify, such as imc or amd-umc (default: the best that work here)")
	flags.StringVar(&f.cpus, "cpus", "", "CPUs that make the traffic, for example 1 or 4-7 (default: the last one allowed)")
	return cmd
}

func runDoctor(ctx context.Context, a *cli.App) error {
	env, err := doctor.Host()
	if err != nil {
		return fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	examined := doctor.Examine(ctx, env)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := addSources(ctx, &examined); err != nil {
		return err
	}
	examined.Conclude()
	if err := a.Print(examined, func(w io.Writer) error { return writeFindings(w, examined, a.Canvas()) }); err != nil {
		return err
	}
	if !examined.Measurable {
		return fmt.Errorf("%w: see the findings above", cli.ErrNotMeasurable)
	}
	return nil
}

func writeFindings(w io.Writer, r doctor.Report, o report.Options) error {
	var b strings.Builder
	b.WriteString(report.Paragraph("", r.Verdict+".", o) + "\n")
	var missing []string
	for _, f := range r.Findings {
		if f.IsSource() && f.State == doctor.Missing {
			missing = append(missing, strings.TrimPrefix(f.Title, "Source "))
			continue
		}
		b.WriteString(report.Paragraph(fmt.Sprintf("%-12s ", f.State), f.Title+": "+f.Detail, o))
		if f.Remedy != "" {
			b.WriteString(report.Paragraph(fmt.Sprintf("%-12s → ", ""), f.Remedy, o))
		}
	}
	if len(missing) > 0 {
		b.WriteString(report.Paragraph(fmt.Sprintf("%-12s ", doctor.Missing), "Sources "+strings.Join(missing, ", ")+": -o json says why", o))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
