package evaluation_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

const simulated = "../testdata/simulated"

func platforms() []string { return []string{"ddr3x4", "ddr4x2"} }

func dataset(t testing.TB, platform string) *evaluation.Dataset {
	t.Helper()
	d, err := evaluation.Read(os.DirFS(filepath.Join(simulated, platform)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The error tables on the open half of the simulated data: a change of any
// prediction shows up here.
func TestErrorsOnSimulatedData(t *testing.T) {
	four := []float64{0.25, 0.5, 0.75, 1}
	restrictions := []struct {
		name    string
		options evaluation.Options
	}{
		{"everything measured", evaluation.Options{}},
		{"50%, 75% and 100% reads, four levels", evaluation.Options{ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: four}},
		{"50% and 100% reads, four levels", evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: four}},
	}
	var b strings.Builder
	for _, platform := range platforms() {
		d := dataset(t, platform)
		for _, r := range restrictions {
			result, err := evaluation.Evaluate(d, r.options)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s, %s\n", platform, r.name)
			fmt.Fprintf(&b, "  %-24s %6s %6s %6s %6s %6s %6s %6s %9s %8s\n",
				"method", "shares", "points", "mean", "sd", "max", "rows", "cost", "coverage", "width")
			for _, m := range result.Methods {
				covered, width := coverage(result, m.Name)
				fmt.Fprintf(&b, "  %-24s %6d %6d %6.2f %6.2f %6.1f %6d %6.2f %9.3f %8.3f\n",
					m.Name, m.ReadShares, m.Points, m.Mean, m.SD, m.Max, m.Rows, m.Cost, covered, width)
			}
		}
	}
	golden(t, "simulated.golden", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); rewrite it with -update if this is meant:\n%s", file, diff)
	}
}

// coverage returns the part of rows whose interval holds the measured
// slowdown, and the mean width in slowdown.
func coverage(r *evaluation.Result, m predictor.Method) (covered, width float64) {
	var rows float64
	for _, row := range r.Rows {
		if row.Method != m {
			continue
		}
		rows++
		if row.Covered() {
			covered++
		}
		width += float64(row.Interval.High - row.Interval.Low)
	}
	return covered / rows, width / rows
}

// The 90% interval of the default method must hold about 90% of what was
// measured: the constants of the predictor's interval are judged here.
func TestIntervalCoverage(t *testing.T) {
	for _, platform := range platforms() {
		result, err := evaluation.Evaluate(dataset(t, platform), evaluation.Options{Methods: []predictor.Method{predictor.Default}})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := coverage(result, predictor.Default); got < 0.85 || got > 0.98 {
			t.Errorf("%s: interval of 90%% covers %.1f%% of %d pairs", platform, 100*got, len(result.Rows))
		}
	}
}

// The default method has to earn its name against Memgen on both platforms.
func TestDefaultBeatsMemgen(t *testing.T) {
	for _, platform := range platforms() {
		result, err := evaluation.Evaluate(dataset(t, platform), evaluation.Options{
			Methods: []predictor.Method{predictor.Memgen, predictor.Default},
		})
		if err != nil {
			t.Fatal(err)
		}
		memgen, ours := result.Methods[0], result.Methods[1]
		if !(ours.Mean < 0.75*memgen.Mean) || !(ours.Max < memgen.Max) {
			t.Errorf("%s: default %.2f mean %.1f max, memgen %.2f mean %.1f max", platform, ours.Mean, ours.Max, memgen.Mean, memgen.Max)
		}
	}
}

func TestSummaryOfKnownErrors(t *testing.T) {
	d := dataset(t, "ddr3x4")
	all, err := evaluation.Evaluate(d, evaluation.Options{Methods: []predictor.Method{predictor.Linear}})
	if err != nil {
		t.Fatal(err)
	}
	var sum, worst float64
	for _, row := range all.Rows {
		e := math.Abs(100 * float64(row.Predicted-row.Measured))
		sum += e
		worst = max(worst, e)
	}
	m := all.Methods[0]
	if n := float64(len(all.Rows)); math.Abs(m.Mean-sum/n) > 1e-9 || m.Max != worst || m.Rows != len(d.Pairs) {
		t.Errorf("summary %+v, rows say mean %v max %v of %d", m, sum/n, worst, len(d.Pairs))
	}
	if m.Cost != 44 || m.ReadShares != 11 || m.Points != 16 {
		t.Errorf("cost %v of %d × %d, want 44 as in the paper's Table 1", m.Cost, m.ReadShares, m.Points)
	}
}

func TestEvaluateRefusesNoPairs(t *testing.T) {
	d := dataset(t, "ddr3x4")
	d.Pairs = nil
	if _, err := evaluation.Evaluate(d, evaluation.Options{}); err == nil {
		t.Error("no error for a data set without pairs")
	}
}
