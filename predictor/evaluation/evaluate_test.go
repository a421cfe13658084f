package evaluation_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

const simulated = "../testdata/simulated"

var allPlatforms = []string{"ddr3x4", "ddr4x2", "ddr4x2cxl", "ddr4x4link", "ddr5x4"}

// platforms are few where the race detector makes fits slow.
func platforms() []string {
	if testing.Short() {
		return allPlatforms[:2]
	}
	return allPlatforms
}

func dataset(t testing.TB, platform string) *evaluation.Dataset {
	t.Helper()
	d, err := evaluation.Read(os.DirFS(filepath.Join(simulated, platform)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// scored is Memgen and the default method on a platform, evaluated once for all
// tests that look at it.
var scored = scoredOnce(allPlatforms)

func scoredOnce(platforms []string) map[string]func() (*evaluation.Result, error) {
	scored := map[string]func() (*evaluation.Result, error){}
	for _, platform := range platforms {
		scored[platform] = sync.OnceValues(func() (*evaluation.Result, error) { return score(platform) })
	}
	return scored
}

func score(platform string) (*evaluation.Result, error) {
	d, err := evaluation.Read(os.DirFS(filepath.Join(simulated, platform)))
	if err != nil {
		return nil, err
	}
	return evaluation.Evaluate(context.Background(), d, evaluation.Options{Methods: []predictor.Method{predictor.Memgen, predictor.Default}})
}

// The 90% interval of the default method must hold about 90% of what was
// measured: the constants of the predictor's interval are judged here.
func TestIntervalCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	for _, platform := range platforms() {
		result, err := scored[platform]()
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Methods[1]; got.Coverage < 0.85 || got.Coverage > 0.95 {
			t.Errorf("%s: interval of 90%% covers %.1f%% of %d pairs", platform, 100*got.Coverage, got.Rows)
		}
	}
}

// Where nobody says that co-runners share a link, the intervals of groups hold what it
// causes all the same.
func TestIntervalCoversAnUndeclaredLink(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	d := dataset(t, "ddr4x4link")
	d.Platform.Link = memory.LinkUnknown
	result, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{Methods: []predictor.Method{predictor.Default}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range result.Groups {
		if g.Coverage < 0.85 {
			t.Errorf("%d co-runners: interval of 90%% covers %.1f%% of %d groups", g.Corunners, 100*g.Coverage, g.Rows)
		}
	}
}

// The default method has to earn its name against Memgen on every platform.
func TestDefaultBeatsMemgen(t *testing.T) {
	for _, platform := range platforms() {
		result, err := scored[platform]()
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
	all, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{Methods: []predictor.Method{predictor.Linear}})
	if err != nil {
		t.Fatal(err)
	}
	var sum, worst float64
	for _, row := range all.Rows[:len(d.Pairs)] {
		e := math.Abs(100 * float64(row.Predicted-row.Measured))
		sum += e
		worst = max(worst, e)
	}
	m := all.Methods[0]
	if n := float64(len(d.Pairs)); math.Abs(m.Mean-sum/n) > 1e-9 || m.Max != worst || m.Rows != len(d.Pairs) {
		t.Errorf("summary %+v, rows say mean %v max %v of %d", m, sum/n, worst, len(d.Pairs))
	}
	if m.Cost != 44 || m.ReadShares != 11 || m.Points != 16 {
		t.Errorf("cost %v of %d × %d, want 44 as in the paper's Table 1", m.Cost, m.ReadShares, m.Points)
	}
}

func TestEvaluateRefusesNoPairs(t *testing.T) {
	d := dataset(t, "ddr3x4")
	d.Pairs = nil
	if _, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{}); err == nil {
		t.Error("no error for a data set without pairs")
	}
}

func TestGroupsAreCountedByTheirSize(t *testing.T) {
	d := dataset(t, "ddr3x4")
	r, err := scored["ddr3x4"]()
	if err != nil {
		t.Fatal(err)
	}
	var rows, want int
	for i, g := range r.Groups {
		if i > 0 && g.Corunners < r.Groups[i-1].Corunners {
			t.Error("groups are not in order of size")
		}
		rows += g.Rows
	}
	for _, g := range d.Groups {
		want += 2
		if n := len(g.Corunners); n < 2 || n > 3 {
			t.Fatalf("%d co-runners", n)
		}
	}
	if rows != want || len(r.Rows) != 2*(len(d.Pairs)+len(d.Groups)) {
		t.Errorf("%d rows of groups, want %d; %d rows in all", rows, want, len(r.Rows))
	}
}

// Noise is a function of the seed and does not depend on what is left out.
func TestNoise(t *testing.T) {
	d := dataset(t, "ddr3x4")
	errorsWith := func(noise float64, seed uint64) evaluation.MethodErrors {
		r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{
			Noise: noise, Seed: seed, Methods: []predictor.Method{predictor.Memgen},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Methods[0]
	}
	clean, one, again, two := errorsWith(0, 1), errorsWith(0.05, 1), errorsWith(0.05, 1), errorsWith(0.05, 2)
	if one != again {
		t.Errorf("one seed, two results: %+v and %+v", one, again)
	}
	if one.Mean == two.Mean || one.Mean <= clean.Mean {
		t.Errorf("mean error %v without noise, %v and %v with", clean.Mean, one.Mean, two.Mean)
	}
}

func TestOptionsValidate(t *testing.T) {
	o := evaluation.Options{
		Methods: []predictor.Method{"oracle"}, ReadShares: []units.ReadShare{2}, Levels: []float64{0}, Noise: -1,
	}
	err := o.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"oracle", "read share 2", "level 0", "noise -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if (evaluation.Options{}).Validate() != nil {
		t.Error("the zero value does not validate")
	}
}

// A method costs what it reads: a curve made up from two costs both.
func TestCostIsWhatIsRead(t *testing.T) {
	d := dataset(t, "ddr3x4")
	r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[predictor.Method]float64{predictor.Memgen: 2, predictor.Default: 8, predictor.Linear: 8, predictor.LinearSampled: 2, predictor.LinearEstimated: 2}
	for _, m := range r.Methods {
		if cost, listed := want[m.Name]; listed && m.Cost != cost {
			t.Errorf("%s costs %v, want %v", m.Name, m.Cost, cost)
		}
	}
}
