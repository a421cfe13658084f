package main

import (
	"testing"

	"bandmate.dev/bandmate/predictor/evaluation"
)

func TestAmong(t *testing.T) {
	d := &evaluation.Dataset{
		Apps:   []evaluation.App{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Pairs:  []evaluation.Pair{{Target: "a", Corunner: "b"}, {Target: "a", Corunner: "c"}, {Target: "b", Corunner: "c"}, {Target: "c", Corunner: "c"}},
		Groups: []evaluation.Group{{Target: "a", Corunners: []string{"c", "c"}}},
	}
	got := among(d, []int{2, 0})
	if len(got.Apps) != 2 || got.Apps[0].Name != "a" || got.Apps[1].Name != "c" || len(got.Pairs) != 2 || got.Groups != nil {
		t.Errorf("%+v", got)
	}
	if len(d.Apps) != 3 || len(d.Pairs) != 4 || len(d.Groups) != 1 {
		t.Errorf("the data set has changed: %+v", d)
	}
}
