package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/pairing"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// pairResult is `pair -o json`.
type pairResult struct {
	Method predictor.Method `json:"method"`
	// Basis is what the default method rests on; absent for the others.
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

func newPairCommand(a *cli.App) *cobra.Command {
	var f predictionFlags
	cmd := &cobra.Command{
		Use:   "pair APP...",
		Short: "Find the pairs that slow each other down least",
		Long: `Divides the applications into pairs so that the sum of all slowdowns is the least
possible, and shows what pairing greedily or at random would give. Of an odd
number one stays alone, the one for which that is best. An application may be
named more than once.

With --max-slowdown as few pairs as possible exceed it, whatever the sum; the
command exits with 5 when one has to.`,
		Example: `  bandmate pair xz sqlite lammps zstd
  bandmate pair xz sqlite lammps zstd --max-slowdown 1.2 -o json`,
		Args: cli.WantArgs(cobra.MinimumNArgs(2), "two applications or more"),
		RunE: func(_ *cobra.Command, args []string) error {
			return runPair(a, args, f)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.add(cmd.Flags(), "prefer pairs in which nobody's slowdown exceeds this, as 1.15")
	return cmd
}

func runPair(a *cli.App, names []string, f predictionFlags) error {
	if err := a.CheckFormat(); err != nil {
		return err
	}
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	known, err := newKnowledge(s).find(names, f)
	if err != nil {
		return err
	}
	slowdowns, err := predictPairs(known.compiled, known.method)
	if err != nil {
		return err
	}
	result, over, err := bestPairs(names, slowdowns, units.Slowdown(f.limit))
	if err != nil {
		return err
	}
	result.Method = known.method
	if known.method == predictor.Default {
		result.Basis = basisOf(known.compiled)
	}
	result.Warnings = append(result.Warnings, mixtureWarnings(known.profiles)...)
	if err := a.Print(result, func(w io.Writer) error { return writePairs(w, result) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	if over > 0 {
		return fmt.Errorf("%w: %d of %d pairs exceed %s, and no pairing has fewer", cli.ErrLimit, over, len(result.Pairs), units.Slowdown(f.limit))
	}
	return nil
}

// predictPairs returns the slowdown of each application beside each one,
// [i][j] that of i beside j, [i][i] beside a second instance of itself.
func predictPairs(apps []*predictor.Application, m predictor.Method) ([][]units.Slowdown, error) {
	slowdowns := make([][]units.Slowdown, len(apps))
	faults := make([]error, len(apps))
	rows := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var workspace predictor.Workspace
			for i := range rows {
				slowdowns[i], faults[i] = predictRow(&workspace, apps, i, m)
			}
		})
	}
	for i := range apps {
		rows <- i
	}
	close(rows)
	workers.Wait()
	return slowdowns, errors.Join(faults...)
}

// predictRow predicts application i as predictPairs does.
func predictRow(workspace *predictor.Workspace, apps []*predictor.Application, i int, m predictor.Method) ([]units.Slowdown, error) {
	row := make([]units.Slowdown, len(apps))
	for j := range apps {
		var err error
		if row[j], err = predictPair(workspace, apps[i], apps[j], m); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// predictPair predicts a target beside one co-runner. What the workspace would take
// as nothing, Predict refuses.
func predictPair(workspace *predictor.Workspace, target, corunner *predictor.Application, m predictor.Method) (units.Slowdown, error) {
	two := []*predictor.Application{target, corunner}
	sensitive, _ := target.Known()
	_, contentious := corunner.Known()
	if m == predictor.Default && sensitive && contentious {
		var both [2]units.NormalizedPerformance
		return workspace.Performances(both[:0], two)[0].Slowdown(), nil
	}
	p, err := predictor.Predict(target, two[1:], predictor.Options{Method: m})
	return p.Slowdown, err
}

func bestPairs(names []string, slowdowns [][]units.Slowdown, limit units.Slowdown) (result pairResult, over int, err error) {
	problem := pairing.Problem{
		Jobs: len(names), Limit: limit,
		Slowdowns: func(i, j int) (ofI, ofJ units.Slowdown) { return slowdowns[i][j], slowdowns[j][i] },
	}
	best, err := pairing.Optimal(problem)
	if err != nil {
		return result, 0, err
	}
	greedy, err := pairing.Greedy(problem)
	if err != nil {
		return result, 0, err
	}
	random, err := pairing.AverageRandom(problem)
	if err != nil {
		return result, 0, err
	}
	result = pairResult{
		Pairs: []pairOfTwo{}, Alone: []string{}, Warnings: []string{},
		TotalSlowdown: best.Total, WorstSlowdown: float64(best.Worst),
	}
	result.Greedy.TotalSlowdown, result.Greedy.WorstSlowdown = greedy.Total, float64(greedy.Worst)
	result.Random.TotalSlowdown = random
	for i, j := range best.Partner {
		switch {
		case j == pairing.Alone:
			result.Alone = append(result.Alone, names[i])
		case i < j:
			result.Pairs = append(result.Pairs, pairOfTwo{
				[2]string{names[i], names[j]}, [2]float64{float64(slowdowns[i][j]), float64(slowdowns[j][i])},
			})
		}
	}
	return result, best.OverLimit, nil
}

func writePairs(w io.Writer, r pairResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Pairs {
		fmt.Fprintf(t, "%s\t%s\twith\t%s\t%s\n",
			report.SanitizeText(p.Applications[0]), units.Slowdown(p.Slowdowns[0]),
			report.SanitizeText(p.Applications[1]), units.Slowdown(p.Slowdowns[1]))
	}
	if err := t.Flush(); err != nil {
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
