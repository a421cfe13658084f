package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/pairing"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// PairResult is `pair -o json`.
type PairResult struct {
	Method predictor.Method `json:"method"`
	// Basis is the basis of the default method; absent for the others.
	Basis predictor.Basis `json:"basis,omitempty"`
	Pairs []pairOfTwo     `json:"pairs"`
	// Alone are the applications without a partner: one of an odd number.
	Alone []string `json:"alone"`
	// TotalSlowdown is the sum over all applications; alone counts 1.
	TotalSlowdown float64 `json:"totalSlowdown"`
	WorstSlowdown float64 `json:"worstSlowdown"`
	// Greedy and Random are what taking the best pair first, and pairing at
	// random on average, would give.
	Greedy struct {
		TotalSlowdown float64 `json:"totalSlowdown"`
		WorstSlowdown float64 `json:"worstSlowdown"`
	} `json:"greedy"`
	Random struct {
		TotalSlowdown float64 `json:"totalSlowdown"`
	} `json:"random"`
	Warnings []string `json:"warnings"`
}

type pairOfTwo struct {
	Applications [2]string  `json:"applications"`
	Slowdowns    [2]float64 `json:"slowdowns"`
}

// NewPair returns the command pair.
func NewPair(a *cli.App) *cobra.Command {
	var f predictionFlags
	cmd := &cobra.Command{
		Use:   "pair [APP...]",
		Short: "Find the pairs that slow each other down least",
		Long: `Divides the applications of the store (or the named ones) into pairs so that
the sum of all slowdowns is the least possible, and shows what pairing greedily
or at random would give. Of an odd number, one application stays alone: the one
for which that is best. An application may be named more than once. Where one
was measured on several machines, --machine chooses.

With --max-slowdown as few pairs as possible exceed it, whatever the sum; the
exit code is 5 if any does.`,
		Example: `  bandmate pair
  bandmate pair xz sqlite lammps zstd
  bandmate pair xz sqlite lammps zstd --max-slowdown 1.2 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cli.Usagef("want two applications or more, or none for all of the store")
			}
			return runPair(cmd.Context(), a, args, f)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.add(cmd.Flags(), "prefer pairs in which no slowdown exceeds this, for example 1.15")
	return cmd
}

func runPair(ctx context.Context, a *cli.App, names []string, f predictionFlags) error {
	g, faults, err := f.selected(ctx, a, names, math.MaxInt)
	if err != nil {
		return err
	}
	if len(g.Entries) < 2 {
		return errors.Join(append(faults, fmt.Errorf("the store has %d application profiles: want two or more; make one with: bandmate onboard NAME -- CMD", len(g.Entries)))...)
	}
	if err := advisor.OneEach(g.Entries); err != nil {
		return err
	}
	slowdowns, err := g.Slowdowns(ctx, g)
	if err != nil {
		return err
	}
	result, over, err := bestPairs(ctx, advisor.Names(g.Entries), slowdowns, f.limit.Slowdown)
	if err != nil {
		return err
	}
	result.Method = g.Method
	result.Warnings = append(result.Warnings, texts(faults)...)
	if g.Method == predictor.Default {
		result.Basis = advisor.BasisOfPairs(g.Entries)
	}
	result.Warnings = append(result.Warnings, advisor.Warnings(g.Entries)...)
	if err := a.Print(result, func(w io.Writer) error { return writePairs(w, result, a.Canvas()) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	if over > 0 {
		return fmt.Errorf("%w: %d of %d pairs exceed %s, and no pairing has fewer", cli.ErrLimit, over, len(result.Pairs), f.limit.Slowdown.Exact())
	}
	return nil
}

func bestPairs(ctx context.Context, names []string, slowdowns [][]units.Slowdown, limit units.Slowdown) (result PairResult, over int, err error) {
	problem := pairing.Problem{
		Jobs: len(names), Limit: limit,
		Slowdowns: func(i, j int) (ofI, ofJ units.Slowdown) { return slowdowns[i][j], slowdowns[j][i] },
	}
	c, err := pairing.Compare(ctx, problem)
	if err != nil {
		return result, 0, err
	}
	result = PairResult{
		Pairs: []pairOfTwo{}, Alone: []string{}, Warnings: []string{},
		TotalSlowdown: c.Optimal.Total, WorstSlowdown: float64(c.Optimal.Worst),
	}
	result.Greedy.TotalSlowdown, result.Greedy.WorstSlowdown = c.Greedy.Total, float64(c.Greedy.Worst)
	result.Random.TotalSlowdown = c.Random
	for i, j := range c.Optimal.Partner {
		switch {
		case j == pairing.Alone:
			result.Alone = append(result.Alone, names[i])
		case i < j:
			result.Pairs = append(result.Pairs, pairOfTwo{
				[2]string{names[i], names[j]}, [2]float64{float64(slowdowns[i][j]), float64(slowdowns[j][i])},
			})
		}
	}
	return result, c.Optimal.OverLimit, nil
}

func writePairs(w io.Writer, r PairResult, o report.Options) error {
	t := cli.Table("", ">", "", "", ">")
	slowdown := func(s float64) report.Cell { return report.Number(units.Slowdown(s).String(), s) }
	for _, p := range r.Pairs {
		t.Add(report.Text(p.Applications[0]), slowdown(p.Slowdowns[0]), report.Text("with"), report.Text(p.Applications[1]), slowdown(p.Slowdowns[1]))
	}
	if err := t.WriteRows(w, o); err != nil {
		return err
	}
	if len(r.Alone) > 0 {
		fmt.Fprintf(w, "alone: %s\n", report.SanitizeText(strings.Join(r.Alone, ", ")))
	}
	_, err := fmt.Fprintf(w, "\nsum of slowdowns  this pairing %.2f, greedy %.2f, random %.2f on average\nworst slowdown    this pairing %s, greedy %s\n",
		r.TotalSlowdown, r.Greedy.TotalSlowdown, r.Random.TotalSlowdown,
		units.Slowdown(r.WorstSlowdown), units.Slowdown(r.Greedy.WorstSlowdown))
	return err
}
