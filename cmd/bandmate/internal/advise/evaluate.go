package advise

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

type evaluateFlags struct {
	methods, levels, readShares []string
	noise                       float64
	predictions, profiles       string
	pictures                    cli.PictureFlags
}

// NewEvaluate returns the command evaluate.
func NewEvaluate(a *cli.App) *cobra.Command {
	var f evaluateFlags
	cmd := &cobra.Command{
		Use:   "evaluate DIR",
		Short: "Compare predictions with co-runs that were measured",
		Long: `Predicts every row of pairs.csv and groups.csv in DIR by every method, from
apps.csv, curves.csv and, where they exist, interferer.csv, timeseries.csv and
platform.json, and tabulates the absolute errors in percentage points of
normalized performance. Columns that say how precisely something was measured
(readings and standard_error, or repeats and repeat_sd, in curves.csv;
relative_uncertainty in apps.csv) count as they do in profiles.

The data are converted to profiles, which --profiles keeps as those of a machine
with the name of the folder. Predictions from them are those of predict, the
schedulers and the report. One row has more information:
default-started-together assumes that all applications started at once.

The cost of a method is the points of the curves it reads ÷ 4: one curve of four
levels costs 1.`,
		Example: `  bandmate evaluate measured
  bandmate evaluate measured --read-shares 50,100 --levels 0.25,0.5,0.75,1
  bandmate evaluate measured --noise 0.01 --predictions rows.csv
  bandmate evaluate measured --profiles measured/store
  bandmate evaluate measured --svg errors.svg`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "the folder of a measured data set"),
		RunE: func(cmd *cobra.Command, args []string) error { return runEvaluate(cmd.Context(), a, args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.methods, "method", nil, "methods to evaluate (default: all): "+joinMethods(evaluation.Methods()))
	flags.StringSliceVar(&f.levels, "levels", nil, "use only the points nearest to these shares of the sustained bandwidth, for example 0.25,0.5,0.75,1")
	flags.StringSliceVar(&f.readShares, "read-shares", nil, "use only the curves nearest to these read shares in percent, for example 50,100")
	flags.Float64Var(&f.noise, "noise", 0, "perturb every point of the curves by this relative standard deviation, for example 0.01")
	flags.StringVar(&f.predictions, "predictions", "", "write every row to this CSV file")
	flags.StringVar(&f.profiles, "profiles", "", "put the profiles that the data become into this folder of profiles")
	f.pictures.Add(flags, "the errors of pairs")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

func (f *evaluateFlags) options() (evaluation.Options, error) {
	o := evaluation.Options{Noise: f.noise, Seed: 1}
	for _, name := range f.methods {
		m, err := evaluation.ParseMethod(name)
		if err != nil {
			return o, cli.UsageError(fmt.Errorf("--method: %w", err))
		}
		o.Methods = append(o.Methods, m)
	}
	var err error
	if o.Levels, err = parseLevels("--levels", f.levels); err != nil {
		return o, err
	}
	if o.ReadShares, err = parsePercents("--read-shares", f.readShares); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, cli.UsageError(err)
	}
	return o, nil
}

// parseLevels reads shares of the sustained bandwidth, above 0% up to 100%.
func parseLevels(flag string, texts []string) ([]float64, error) {
	var levels []float64
	for _, text := range texts {
		level, err := units.ParseShare(text)
		if err != nil || level == 0 {
			return nil, cli.Usagef("%s %q: want shares of the sustained bandwidth above 0%% up to 100%%", flag, text)
		}
		levels = append(levels, level)
	}
	return levels, nil
}

// parsePercents reads read shares as data sets write them, in percent: 50, 50%
// or, up to 1, as a part of the whole: 0.5.
func parsePercents(flag string, texts []string) ([]units.ReadShare, error) {
	var shares []units.ReadShare
	for _, text := range texts {
		v, err := strconv.ParseFloat(text, 64)
		if err == nil && v > 1 && v <= 100 {
			shares = append(shares, units.ReadShare(v/100))
			continue
		}
		share, err := units.ParseReadShare(text)
		if err != nil {
			return nil, cli.Usagef("%s %q: want percentages from 0 to 100", flag, text)
		}
		shares = append(shares, share)
	}
	return shares, nil
}

func runEvaluate(ctx context.Context, a *cli.App, dir string, f evaluateFlags) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	if err := errors.Join(f.pictures.Check(), cli.CheckFile("predictions", f.predictions)); err != nil {
		return err
	}
	dataset, err := evaluation.Read(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(dir), err)
	}
	if f.profiles != "" {
		if err := putProfiles(a, f.profiles, dir, dataset, options); err != nil {
			return err
		}
	}
	picture := &report.ErrorPlot{Title: "Errors of predictions of pairs"}
	options.Each = func(r evaluation.Row) error {
		addError(picture, r)
		return nil
	}
	result, err := evaluateInto(ctx, f.predictions, dataset, options)
	if err != nil {
		return err
	}
	return printEvaluation(a, result, picture, f.pictures)
}

// putProfiles puts the profiles that a data set becomes into a folder, as those of a
// machine with the name of the data set.
func putProfiles(a *cli.App, dir, data string, dataset *evaluation.Dataset, options evaluation.Options) error {
	applications, machine, err := dataset.Profiles(options)
	if err != nil {
		return err
	}
	folder, err := store.Open(dir)
	if err != nil {
		return err
	}
	machine.Name = machineOf(data, machine.Name)
	objects := []v1alpha1.Object{machine}
	for _, p := range applications {
		p.Spec.Machine.Name = machine.Name
		objects = append(objects, p)
	}
	added, replaced := 0, 0
	for _, o := range objects {
		text, err := v1alpha1.Encode(o)
		if err != nil {
			return err
		}
		someAdded, someReplaced, err := folder.Import(bytes.NewReader(text))
		if err != nil {
			return err
		}
		added, replaced = added+len(someAdded), replaced+len(someReplaced)
	}
	a.Notef("%s: added %s, replaced %d\n", report.SanitizeText(dir), text.Count(added, "profile"), replaced)
	return nil
}

// notInName are the characters that a machine's name may not have.
var notInName = regexp.MustCompile(`[^a-z0-9.]+`)

// machineOf returns the name of a data set's folder, in the characters that the name of a
// machine may have; otherwise where that is none.
func machineOf(data, otherwise string) string {
	absolute, err := filepath.Abs(data)
	if err != nil {
		return otherwise
	}
	name := notInName.ReplaceAllString(strings.ToLower(filepath.Base(absolute)), "-")
	name = strings.Trim(name, "-.")
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return otherwise
	}
	return name
}

// addError adds the error of a pair to those of its method.
func addError(p *report.ErrorPlot, r evaluation.Row) {
	if r.Corunners != 1 {
		return
	}
	i := slices.IndexFunc(p.Methods, func(m report.MethodErrors) bool { return m.Method == string(r.Method) })
	if i < 0 {
		i = len(p.Methods)
		p.Methods = append(p.Methods, report.MethodErrors{Method: string(r.Method)})
	}
	p.Methods[i].Points = append(p.Methods[i].Points, r.Error())
}

// evaluateInto writes every row to a file, which appears whole or not at all;
// without a name it writes none.
func evaluateInto(ctx context.Context, name string, dataset *evaluation.Dataset, options evaluation.Options) (result *evaluation.Result, err error) {
	if name == "" {
		return evaluation.Evaluate(ctx, dataset, options)
	}
	file, err := renameio.NewPendingFile(cli.Target(name), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, cli.FileError("predictions", name, err)
	}
	defer func() { err = errors.Join(err, file.Cleanup()) }()
	out := csv.NewWriter(file)
	if err := out.Write([]string{"target", "corunner", "method", "predicted", "measured"}); err != nil {
		return nil, cli.FileError("predictions", name, err)
	}
	each := options.Each
	options.Each = func(r evaluation.Row) error {
		return errors.Join(each(r), cli.FileError("predictions", name, writePredictionRow(out, r)))
	}
	if result, err = evaluation.Evaluate(ctx, dataset, options); err != nil {
		return nil, err
	}
	out.Flush()
	return result, cli.FileError("predictions", name, errors.Join(out.Error(), file.CloseAtomicallyReplace()))
}

func writePredictionRow(out *csv.Writer, r evaluation.Row) error {
	number := func(p units.NormalizedPerformance) string { return strconv.FormatFloat(float64(p), 'f', 12, 64) }
	return out.Write([]string{r.Target, r.Corunner, string(r.Method), number(r.Predicted), number(r.Measured)})
}

func printEvaluation(a *cli.App, r *evaluation.Result, p cli.Picture, f cli.PictureFlags) error {
	return a.PrintDrawnRows(r, p, f,
		func(w io.Writer) error { return writeEvaluationCSV(w, r) },
		func(w io.Writer) error { return writeEvaluation(a, w, r) })
}

func writeEvaluation(a *cli.App, w io.Writer, r *evaluation.Result) error {
	number := func(v float64, digits int) report.Cell {
		return report.Number(strconv.FormatFloat(v, 'f', digits, 64), v)
	}
	count := func(n int) report.Cell { return report.Number(strconv.Itoa(n), float64(n)) }
	coverage := func(v float64) report.Cell { return report.Number(fmt.Sprintf("%.1f%%", 100*v), v) }
	columns := func(first string, others ...string) []report.Column {
		all := []report.Column{{Title: first}}
		for _, title := range others {
			all = append(all, report.Column{Title: title, Numeric: true})
		}
		return all
	}
	table := &report.Table{Columns: columns("pairs", "shares", "points", "mean", "SD", "max", "rows", "cost", "coverage")}
	for _, m := range r.Methods {
		table.Add(report.Text(string(m.Name)), count(m.ReadShares), count(m.Points), number(m.Mean, 2), number(m.SD, 2), number(m.Max, 1), count(m.Rows), number(m.Cost, 2), coverage(m.Coverage))
	}
	if err := table.Write(w, a.Canvas()); err != nil {
		return err
	}
	for i, g := range r.Groups {
		if i == 0 || g.Corunners != r.Groups[i-1].Corunners {
			table = &report.Table{Columns: columns(fmt.Sprintf("%d co-runners", g.Corunners), "mean", "max", "rows", "coverage")}
		}
		table.Add(report.Text(string(g.Name)), number(g.Mean, 2), number(g.Max, 1), count(g.Rows), coverage(g.Coverage))
		if i == len(r.Groups)-1 || g.Corunners != r.Groups[i+1].Corunners {
			fmt.Fprintln(w)
			if err := table.Write(w, a.Canvas()); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprint(w, "\n"+report.Paragraph("", "Absolute errors in percentage points of normalized performance; coverage is the part within the 90% interval.", a.Canvas()))
	return err
}

// writeEvaluationCSV writes one row per method and number of co-runners; what
// is not counted for groups stays empty.
func writeEvaluationCSV(w io.Writer, r *evaluation.Result) error {
	out := csv.NewWriter(w)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
	rows := [][]string{{"method", "corunners", "readShares", "points", "meanAbsError", "sdAbsError", "maxAbsError", "rows", "cost", "coverage"}}
	for _, m := range r.Methods {
		rows = append(rows, []string{
			string(m.Name), "1", strconv.Itoa(m.ReadShares), strconv.Itoa(m.Points),
			number(m.Mean), number(m.SD), number(m.Max), strconv.Itoa(m.Rows), number(m.Cost), number(m.Coverage),
		})
	}
	for _, g := range r.Groups {
		rows = append(rows, []string{
			string(g.Name), strconv.Itoa(g.Corunners), "", "",
			number(g.Mean), "", number(g.Max), strconv.Itoa(g.Rows), "", number(g.Coverage),
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
