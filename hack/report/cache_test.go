package report

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dop251/goja"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// What the page says at least of a group that shares a cache is the worst of its pairs, and
// the exact slowdown is hardly ever lower: a co-runner that is slowed down presses less.
func TestAtLeastInThePage(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	profiles, machine, err := d.Profiles(evaluation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known := advisor.New(profiles, []*v1alpha1.MachineProfile{machine})
	entries, err := known.Choose(known.Applications(), machine.Name)
	if err != nil {
		t.Fatal(err)
	}
	group, err := known.Group(t.Context(), entries, predictor.Default)
	if err != nil {
		t.Fatal(err)
	}
	apps := group.Applications()
	o := openPage(t, group.Profiles(), apps)
	shared := 0
	for i, a := range o.data.Applications {
		if a.SharesCache != apps[i].SharesCache() {
			t.Errorf("%s shares a cache: %v in the page", a.Name, a.SharesCache)
		}
		if a.SharesCache {
			shared++
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	const groups = 150
	lower, mean := 0, 0.0
	for range groups {
		chosen := make([]int, 3+random.IntN(2))
		corunners := make([]*predictor.Application, len(chosen)-1)
		least := 0.0
		for i := range chosen {
			chosen[i] = random.IntN(len(apps))
			if i > 0 {
				corunners[i-1] = apps[chosen[i]]
				least = max(least, o.data.Pairs[chosen[0]][chosen[i]][0])
			}
		}
		got, err := o.atLeast(goja.Undefined(), goja.New().ToValue(chosen))
		if err != nil {
			t.Fatal(err)
		}
		if got.ToFloat() != least {
			t.Errorf("%v: at least %v in the page, want %v", chosen, got, least)
		}
		exact, err := predictor.Predict(apps[chosen[0]], corunners, predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		mean += 100 * (1/least - 1/float64(exact.Slowdown)) / groups
		if 1/least < 0.98/float64(exact.Slowdown) {
			lower++
			t.Logf("%v: at least %.2f, exactly %.2f", chosen, least, exact.Slowdown)
		}
	}
	t.Logf("%d applications share the cache; exact performance is %.1f points below on average", shared, mean)
	if shared < len(apps)/2 || lower > groups/20 {
		t.Errorf("of %d groups, %d are slowed down less than the page says at least; %d of %d applications share the cache", groups, lower, shared, len(apps))
	}
}
