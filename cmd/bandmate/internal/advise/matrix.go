package advise

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// MatrixResult is `matrix -o json`: rows suffer, columns cause.
type MatrixResult struct {
	Method predictor.Method `json:"method"`
	// Basis is what the default method rests on; absent for the others.
	Basis        predictor.Basis `json:"basis,omitempty"`
	Applications []string        `json:"applications"`
	// Slowdowns[i][j] is that of application i beside application j.
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
beside every other, and beside a second instance of itself.

As text, the picture holds the --top applications that suffer or cause the most;
data and files hold all. Of hundreds of applications an SVG stays readable: zoom
in for the names.`,
		Example: `  bandmate matrix
  bandmate matrix xz sqlite lammps -o csv
  bandmate matrix --svg matrix.svg --png matrix.png`,
		RunE: func(_ *cobra.Command, args []string) error {
			return runMatrix(a, args, f)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.addMethod(cmd.Flags())
	cmd.Flags().StringVar(&f.machine, "machine", "", "use the profiles measured on this machine (default: all)")
	cmd.Flags().IntVar(&f.top, "top", 40, "show this many applications as text; 0 shows all")
	f.pictures.Add(cmd.Flags(), "the heat map")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

// matrixFlags are those of the matrix command.
type matrixFlags struct {
	predictionFlags
	pictures cli.PictureFlags
	top      int
}

func runMatrix(a *cli.App, names []string, f matrixFlags) error {
	if f.top < 0 {
		return cli.Usagef("--top %d: want 0 or more", f.top)
	}
	if err := f.pictures.Check(); err != nil {
		return err
	}
	g, faults, err := f.selected(a, names)
	if err != nil {
		return err
	}
	result, err := predictMatrix(g, faults)
	if err != nil {
		return err
	}
	picture := &report.HeatMap{
		Targets: result.Applications, Corunners: result.Applications,
		Slowdown: func(i, j int) units.Slowdown { return units.Slowdown(result.Slowdowns[i][j]) },
	}
	if err := a.PrintDrawnRows(result, picture, f.pictures, picture.WriteCSV, func(w io.Writer) error { return writeMatrix(a, w, picture, f.top) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	return nil
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

func predictMatrix(g *advisor.Group, faults []error) (MatrixResult, error) {
	result := MatrixResult{Method: g.Method, Warnings: []string{}}
	for _, fault := range faults {
		result.Warnings = append(result.Warnings, fault.Error())
	}
	if len(g.Entries) == 0 {
		return result, errors.New("the store has no application profiles yet: make one with: bandmate onboard NAME -- CMD")
	}
	if g.Method == predictor.Default {
		result.Basis = advisor.BasisOf(g.Entries)
	}
	result.Warnings = append(result.Warnings, advisor.Warnings(g.Entries)...)
	slowdowns, err := g.Slowdowns(g)
	if err != nil {
		return result, err
	}
	for i, row := range slowdowns {
		result.Applications = append(result.Applications, g.Entries[i].Application.Name())
		plain := make([]float64, len(row))
		for j, slowdown := range row {
			plain[j] = float64(slowdown)
		}
		result.Slowdowns = append(result.Slowdowns, plain)
	}
	return result, nil
}
