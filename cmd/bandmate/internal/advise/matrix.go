package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// MatrixResult is `matrix -o json`: rows suffer, columns cause.
type MatrixResult struct {
	Method predictor.Method `json:"method"`
	// Basis is the basis of the default method; absent for the others.
	Basis predictor.Basis `json:"basis,omitempty"`
	// Approximate is true for estimates by tables: see --exact.
	Approximate  bool     `json:"approximate,omitempty"`
	Applications []string `json:"applications"`
	// Slowdowns[i][j] is that of application i beside application j; null where it is
	// not known. It is written row by row (see writeRows), never held.
	Slowdowns [][]float64 `json:"slowdowns"`
	Warnings  []string    `json:"warnings"`
}

// NewMatrix returns the command matrix.
func NewMatrix(a *cli.App) *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix [APP...]",
		Short: "Predict every pair of the store (or of the named applications)",
		Long: `Predicts the slowdown of every application of the store (or of the named ones)
beside every other, and beside a second instance of itself. An application that
was measured on several machines is shown once for each, as NAME@MACHINE.

The text shows the --top applications that suffer or cause the most; data and
files contain all. An SVG of hundreds of applications is readable: zoom in for
the names.

The pairs of more than 1000 applications are estimated from tables of the
curves, unless --exact is given. On simulated memories these are off by 2.5
points of normalized performance on average and 21 at most. The data of
thousands of applications are written row by row, in a few hundred megabytes of
memory.`,
		Example: `  bandmate matrix
  bandmate matrix xz sqlite lammps -o csv
  bandmate matrix --svg matrix.svg --png matrix.png`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMatrix(cmd.Context(), a, args, f)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.addMethod(cmd.Flags())
	cmd.Flags().StringVar(&f.machine, "machine", "", "use the profiles measured on this machine (default: all)")
	cmd.Flags().IntVar(&f.top, "top", 40, "show this many applications as text; 0 shows all")
	cmd.Flags().BoolVar(&f.exact, "exact", false, "predict every pair, however many applications there are")
	f.pictures.Add(cmd.Flags(), "the heat map")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

// matrixFlags are those of the matrix command.
type matrixFlags struct {
	predictionFlags
	pictures cli.PictureFlags
	top      int
	exact    bool
}

// mostExact is up to how many applications every pair is predicted: their square is the
// number of predictions, of some microseconds each.
const mostExact = 1000

func runMatrix(ctx context.Context, a *cli.App, names []string, f matrixFlags) error {
	if f.top < 0 {
		return cli.Usagef("--top %d: want 0 or more", f.top)
	}
	if err := f.pictures.Check(); err != nil {
		return err
	}
	most := mostExact
	if f.exact {
		most = math.MaxInt
	}
	g, faults, err := f.selected(ctx, a, names, most)
	if err != nil {
		return err
	}
	result, slowdown, err := predictMatrix(ctx, g, faults, most)
	if err != nil {
		return err
	}
	picture := &report.HeatMap{Targets: result.Applications, Corunners: result.Applications, Slowdown: slowdown}
	if err := printMatrix(ctx, a, result, picture, f); err != nil {
		return err
	}
	if a.Format == cli.FormatText || a.Format == cli.FormatCSV {
		a.Warn(result.Warnings)
	}
	return nil
}

// printMatrix writes the pictures, and the result unless one of them takes its place. Data
// are written row by row.
func printMatrix(ctx context.Context, a *cli.App, result MatrixResult, picture *report.HeatMap, f matrixFlags) error {
	if (a.Format == cli.FormatJSON || a.Format == cli.FormatYAML) && !f.pictures.ToStdout() {
		return errors.Join(a.Draw(picture, f.pictures), result.writeRows(untilDone{ctx, a.Stdout}, a.Format, picture.Slowdown))
	}
	csv := func(w io.Writer) error { return picture.WriteCSV(untilDone{ctx, w}) }
	return a.PrintDrawnRows(result, picture, f.pictures, csv, func(w io.Writer) error { return writeMatrix(a, w, picture, f.top) })
}

// writeMatrix shows the applications that suffer or cause the most.
func writeMatrix(a *cli.App, w io.Writer, picture *report.HeatMap, top int) error {
	part, left := picture.Busiest(top)
	if err := part.Write(w, a.Canvas()); err != nil || left == 0 {
		return err
	}
	_, err := io.WriteString(w, "\n"+report.Paragraph("", fmt.Sprintf(
		"These %d applications suffer or cause the most; %d are left out: see all with --top 0, --svg FILE or -o csv.", len(part.Targets), left), a.Canvas()))
	return err
}

// slowdownOf returns that of application i beside application j; NaN where it is not
// known. It is safe for concurrent use.
type slowdownOf func(i, j int) units.Slowdown

// predictMatrix predicts all pairs of a group, whose slowdowns the result does not hold yet.
// It estimates those of more than most applications.
func predictMatrix(ctx context.Context, g *advisor.Group, faults []error, most int) (MatrixResult, slowdownOf, error) {
	result := MatrixResult{Method: g.Method, Warnings: texts(faults)}
	if len(g.Entries) == 0 {
		return result, nil, errors.New("the store has no application profiles yet: make one with: bandmate onboard NAME -- CMD")
	}
	result.Warnings = append(result.Warnings, advisor.Warnings(g.Entries)...)
	result.Applications = advisor.Names(g.Entries)
	if g.Method == predictor.Default && len(g.Entries) > most {
		result.Approximate, result.Basis = true, predictor.Curves
		result.Warnings = append(result.Warnings, fmt.Sprintf("the pairs of %d applications are estimated by tables; --exact predicts each", len(g.Entries)))
		return result, approximate(g), nil
	}
	if g.Method == predictor.Default {
		result.Basis = advisor.BasisOf(g.Entries, g.Entries)
	}
	slowdowns, err := g.Slowdowns(ctx, g)
	return result, func(i, j int) units.Slowdown { return slowdowns[i][j] }, err
}

// approximate estimates the pairs of a group.
func approximate(g *advisor.Group) slowdownOf {
	n := len(g.Entries)
	sensitive, contentious := make([]bool, n), make([]bool, n)
	for i, e := range g.Entries {
		sensitive[i], contentious[i] = e.Application.Known()
	}
	pairs := fast.NewPairs(g.Applications())
	return func(i, j int) units.Slowdown {
		if !sensitive[i] || !contentious[j] {
			return units.Slowdown(math.NaN())
		}
		const digits = 1e4 // more would be noise
		return units.Slowdown(math.Round(digits*float64(pairs.At(i, j).Slowdown())) / digits)
	}
}
