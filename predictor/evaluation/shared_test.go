package evaluation_test

import (
	"slices"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// Where a cache is shared, the default method is far closer than one that knows bandwidth
// alone, for pairs and for groups, and says so honestly.
func TestSharedCache(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	d := dataset(t, "llc-ddr4x2")
	r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{Methods: []predictor.Method{predictor.Default, predictor.Memgen}})
	if err != nil {
		t.Fatal(err)
	}
	ours, paper := r.Methods[0], r.Methods[1]
	if ours.Mean > 2.6 || ours.Max > 25 || ours.Mean > 0.5*paper.Mean {
		t.Errorf("pairs: mean %.2f, at most %.1f; memgen %.2f", ours.Mean, ours.Max, paper.Mean)
	}
	if ours.Coverage < 0.8 {
		t.Errorf("the interval holds %.0f%%", 100*ours.Coverage)
	}
	for _, g := range r.Groups {
		if g.Name == predictor.Default && g.Mean > 4 {
			t.Errorf("%d co-runners: mean %.2f", g.Corunners, g.Mean)
		}
	}
	t.Logf("pairs: mean %.2f, at most %.1f; groups %+v", ours.Mean, ours.Max, r.Groups)
}

// Points in a cache serve only where the machine says that it is shared: without, nothing
// changes to the last digit.
func TestCacheThatNobodyShares(t *testing.T) {
	d := dataset(t, "llc-ddr4x2")
	d.Platform.SharedCache = nil
	o := evaluation.Options{Methods: []predictor.Method{predictor.Default}}
	points, err := evaluation.Evaluate(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Apps {
		d.Apps[i].Cache = nil
	}
	none, err := evaluation.Evaluate(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range none.Rows {
		if points.Rows[i] != row {
			t.Fatalf("%+v with points in the cache, %+v without", points.Rows[i], row)
		}
	}
}

// What an onboarding measures suffices: two curves of four levels, working sets within the
// cache that are loaded at three rates, and one far beyond it, without a count of the traffic.
func TestPointsThatOnboardMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	d := dataset(t, "llc-ddr4x2")
	size := d.Platform.SharedCache.Bytes
	for i := range d.Apps {
		a := &d.Apps[i]
		a.Cache = slices.DeleteFunc(slices.Clone(a.Cache), func(p v1alpha1.CachePoint) bool {
			within := p.FootprintBytes <= size && (p.Level == 0.25 || p.Level == 0.5 || p.Level == 1)
			beyond := p.FootprintBytes == 8*size && p.Level == 1
			return p.ReadShare != 1 || !within && !beyond
		})
		if len(a.Cache) != 10 {
			t.Fatalf("%s: %d points in the cache, want 10", a.Name, len(a.Cache))
		}
		for j := range a.Cache {
			a.Cache[j].TotalBytesPerSecond = nil
		}
		for _, c := range a.Curves {
			for j := range c.Points {
				c.Points[j].TotalBytesPerSecond = nil
			}
		}
	}
	r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{
		Methods: []predictor.Method{predictor.Default, predictor.Memgen}, ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, paper := r.Methods[0], r.Methods[1]
	if ours.Mean > 3.5 || ours.Mean > 0.6*paper.Mean {
		t.Errorf("pairs: mean %.2f, at most %.1f; memgen %.2f", ours.Mean, ours.Max, paper.Mean)
	}
	t.Logf("pairs: mean %.2f, at most %.1f, in the interval %.0f%%; memgen %.2f; groups %+v", ours.Mean, ours.Max, 100*ours.Coverage, paper.Mean, r.Groups)
}
