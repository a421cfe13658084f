// Package advise has the commands that predict from profiles, and those that manage
// the folder of profiles.
package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// NewPredict returns the command predict.
func NewPredict(a *cli.App) *cobra.Command {
	var f predictionFlags
	var explain bool
	var pictures cli.PictureFlags
	var loads loadFlags
	cmd := &cobra.Command{
		Use:   "predict APP WITH...",
		Short: "Predict how APP and its neighbors slow each other down",
		Long: `Predicts how much APP and its neighbors slow each other down.

For a service, onboarded with --service, --load predicts the p99 alone and
beside the neighbors, and the load at which the service saturates. A p99 exists
only where the service keeps up with its load. Pictures then show p99 against
load.`,
		Example: `  bandmate predict xz sqlite
  bandmate predict xz sqlite lammps --explain
  bandmate predict xz sqlite --max-slowdown 1.1 -o json
  bandmate predict xz sqlite lammps --svg prediction.svg
  bandmate predict redis triad --load 20000 --max-p99 2ms
  bandmate predict redis triad nginx --load 20000,nginx=5000`,
		Args: cli.WantArgs(cobra.MinimumNArgs(2), "an application and at least one neighbor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPredict(cmd.Context(), a, args, f, loads, explain, pictures)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.add(cmd.Flags(), "exit with 5 when anyone's slowdown exceeds this, for example 1.15")
	loads.add(cmd.Flags())
	pictures.Add(cmd.Flags(), "everyone's slowdown")
	cmd.Flags().BoolVar(&explain, "explain", false, "show the curves, the pressure, the segment and the equation")
	return cmd
}

func runPredict(ctx context.Context, a *cli.App, names []string, f predictionFlags, l loadFlags, explain bool, pictures cli.PictureFlags) error {
	if err := pictures.Check(); err != nil {
		return err
	}
	demands, err := l.parse(names)
	if err != nil {
		return err
	}
	g, faults, err := f.choose(ctx, a, names)
	if err != nil {
		return err
	}
	answer, err := g.PredictServices(ctx, 0, demands, explain)
	if err != nil {
		return err
	}
	answer.Warnings = append(answer.Warnings, texts(faults)...)
	p := answer.Prediction
	var plot cli.Picture = &report.SlowdownPlot{}
	if pictures.Any() && answer.Service != nil {
		plot, err = latencyPlot(ctx, g, demands, answer.Service)
	} else if pictures.Any() {
		plot = predictionPlot(g, f, pictures)
	}
	if err != nil {
		return err
	}
	if err := a.PrintDrawn(answer, plot, pictures, func(w io.Writer) error {
		return errors.Join(writePrediction(w, p, g.ExplainBasis(p.Basis)), writeServices(w, answer))
	}); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(p.Warnings)
		for _, s := range servicesOf(answer) {
			a.Warn(s.Warnings)
		}
	}
	return errors.Join(checkLimit(p, f.limit.Slowdown), checkP99s(answer))
}

// checkLimit fails when the target or a neighbor slows down by more.
func checkLimit(p predictor.Prediction, limit units.Slowdown) error {
	if limit == 0 {
		return nil
	}
	var over []string
	if p.Slowdown > limit {
		over = append(over, fmt.Sprintf("%s %s", p.Target, p.Slowdown))
	}
	for _, name := range slices.Sorted(maps.Keys(p.CorunnerSlowdowns)) {
		if s := p.CorunnerSlowdowns[name]; s > limit {
			over = append(over, fmt.Sprintf("%s %s", name, s))
		}
	}
	if len(over) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, allowed %s", cli.ErrLimit, strings.Join(over, ", "), limit.Exact())
}

// writePrediction prints a prediction; basis says what it rests on and is printed
// with the explanation.
func writePrediction(w io.Writer, p predictor.Prediction, basis string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s beside %s: %s (90%% interval %s to %s), method %s\n",
		report.SanitizeText(p.Target), report.SanitizeText(strings.Join(p.Corunners, ", ")),
		p.Slowdown, p.Interval.Low, p.Interval.High, p.Method)
	for _, name := range slices.Sorted(maps.Keys(p.CorunnerSlowdowns)) {
		fmt.Fprintf(&b, "%s beside the others: %s\n", report.SanitizeText(name), p.CorunnerSlowdowns[name])
	}
	fmt.Fprintf(&b, "pressure on %s: %s", report.SanitizeText(p.Target), p.Pressure.BytesPerSecond)
	if p.Pressure.ReadShare != nil {
		fmt.Fprintf(&b, ", %s reads", *p.Pressure.ReadShare)
	}
	b.WriteString("\n")
	if e := p.Explanation; e != nil {
		writeExplanation(&b, e)
		cli.WriteParts(&b, p.Parts)
		if basis != "" {
			fmt.Fprintf(&b, "  basis: %s\n", report.SanitizeText(basis))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeExplanation(b *strings.Builder, e *predictor.Explanation) {
	fmt.Fprintf(b, "\nHow: %s\n", e.Equation)
	for _, r := range e.Readings {
		fmt.Fprintf(b, "  curve at %s reads (%s, weight %.2f): at %s between %s → %.3f and %s → %.3f: %.3f\n",
			r.ReadShare, r.Kind, r.Weight, r.BytesPerSecond,
			r.Segment[0].BytesPerSecond, r.Segment[0].NormalizedPerformance,
			r.Segment[1].BytesPerSecond, r.Segment[1].NormalizedPerformance, r.NormalizedPerformance)
	}
	if n := len(e.Iterations); n > 0 {
		fmt.Fprintf(b, "  settled after %d steps at normalized performance %.3f\n", n, e.Iterations[n-1].NormalizedPerformance)
	}
}
