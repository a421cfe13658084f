package evaluation_test

import (
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// Where a cache is shared, the default method is far closer than one that knows bandwidth
// alone, for pairs and for groups, and says so honestly.
func TestSharedCache(t *testing.T) {
	d := dataset(t, "llc-ddr4x2")
	r, err := evaluation.Evaluate(d, evaluation.Options{Methods: []predictor.Method{predictor.Default, predictor.Memgen}})
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
	points, err := evaluation.Evaluate(d, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Apps {
		d.Apps[i].Cache = nil
	}
	none, err := evaluation.Evaluate(d, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range none.Rows {
		if points.Rows[i] != row {
			t.Fatalf("%+v with points in the cache, %+v without", points.Rows[i], row)
		}
	}
}
