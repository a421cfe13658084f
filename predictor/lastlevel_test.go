package predictor_test

import (
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// fittedCache returns applications of a data set that share a cache, and a model fitted to
// them.
func fittedCache(t *testing.T) (*predictor.Calibration, []*predictor.Application) {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	profiles, machine, err := d.Profiles(evaluation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const some = 5 // enough to fit a model to
	var apps []*predictor.Application
	for _, p := range profiles[:some] {
		a, err := predictor.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, a)
	}
	fitted, err := predictor.CalibrateCache(apps, predictor.LastLevel{Bytes: machine.Spec.SharedCache.Bytes}, "none")
	if err != nil {
		t.Fatal(err)
	}
	return fitted, apps
}

// Applications that share a cache are predicted alike by all who ask, from what is kept of
// them as well, and the explanation says what is cache and what is bandwidth.
func TestApplicationsThatShareACache(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	fitted, apps := fittedCache(t)
	data, err := fitted.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var kept predictor.Calibration
	if err := kept.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	applied, restored := make([]*predictor.Application, 2), make([]*predictor.Application, 2)
	for i := range applied {
		if applied[i], err = fitted.Apply(apps[i+1]); err != nil {
			t.Fatal(err)
		}
		state, err := fitted.State(applied[i])
		if err != nil {
			t.Fatal(err)
		}
		if restored[i], err = kept.Restore(apps[i+1], state); err != nil {
			t.Fatal(err)
		}
		if !restored[i].SharesCache() {
			t.Errorf("%s does not share a cache after it was kept", apps[i+1].Name())
		}
	}
	predict := func(both []*predictor.Application) predictor.Prediction {
		p, err := predictor.Predict(both[0], both[1:], predictor.Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := predict(applied)
	if again := predict(restored); again.Slowdown != p.Slowdown || again.Interval != p.Interval {
		t.Errorf("%v within %v, %v within %v from what was kept", p.Slowdown, p.Interval, again.Slowdown, again.Interval)
	}
	if p.Basis != predictor.MemoryModel || !strings.Contains(p.Explanation.Equation, "MiB of a cache of 1.00 MiB") {
		t.Errorf("basis %s: %s", p.Basis, p.Explanation.Equation)
	}
	if !(p.Interval.Low <= p.Slowdown && p.Slowdown <= p.Interval.High) {
		t.Errorf("%v lies outside its interval %v", p.Slowdown, p.Interval)
	}
	var w predictor.Workspace
	var two [2]units.NormalizedPerformance
	if got := w.Performances(two[:0], applied)[0]; got != p.NormalizedPerformance {
		t.Errorf("%v, %v in a workspace", p.NormalizedPerformance, got)
	}
	// A neighbor of which only the traffic is known takes cache as a stream does.
	stream, err := predictor.Assumed("stream", units.Traffic{Read: 10e9})
	if err != nil {
		t.Fatal(err)
	}
	if p := predict([]*predictor.Application{applied[0], stream}); p.Slowdown <= 1 {
		t.Errorf("%v beside 10 GB/s", p.Slowdown)
	}
	inSeveralCaches(t, fitted, apps)
	idleAndReordered(t, fitted, apps)
	withoutPointsInTheCache(t, fitted)
	// A link that the model leaves out is named.
	for _, c := range []*predictor.Calibration{fitted, fitted.Farther()} {
		a, err := c.Apply(apps[1])
		if err != nil {
			t.Fatal(err)
		}
		warned := strings.Contains(strings.Join(predict([]*predictor.Application{a, stream}).Warnings, " "), "leaves their link out")
		if warned != (c != fitted) {
			t.Errorf("a link that is left out is named: %t", warned)
		}
	}
}

// withoutPointsInTheCache has two applications predicted by the model of the memory behind
// the cache, with as much doubt as where there is no cache.
func withoutPointsInTheCache(t *testing.T, fitted *predictor.Calibration) {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	profiles, _, err := d.Profiles(evaluation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pair []*predictor.Application
	for _, p := range profiles[:2] {
		p = p.DeepCopy()
		p.Spec.Cache = nil
		a, err := predictor.Compile(p)
		if err == nil {
			a, err = fitted.Farther().Apply(a)
		}
		if err != nil || a.SharesCache() {
			t.Fatalf("%s shares a cache: %t, %v", p.Name, err == nil, err)
		}
		pair = append(pair, a)
	}
	p, err := predictor.Predict(pair[0], pair[1:], predictor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const least = 0.1 // of what is lost; it is 0.02 where the model is taken to be right
	lost, half := 1-float64(p.NormalizedPerformance), (1/float64(p.Interval.Low)-1/float64(p.Interval.High))/2
	if half < least*lost {
		t.Errorf("%.3f is lost, and the interval reaches %.3f to each side", lost, half)
	}
	if !strings.Contains(strings.Join(p.Warnings, " "), "leaves their link out") {
		t.Error("a link that is left out is not named")
	}
}

// A link counts as left out where most applications were measured in both roles.
func TestFarther(t *testing.T) {
	for _, test := range []struct {
		link   string
		ratios []float64
		want   bool
	}{
		{v1alpha1.LinkShared, []float64{1, 1.1}, true},
		{v1alpha1.LinkOwn, []float64{1, 1}, true},
		{v1alpha1.LinkNone, []float64{2, 2}, false},
		{"", []float64{1, 1.2, 1.4}, true},
		{"", []float64{1, 1.01, 1.4}, false},
	} {
		if got := predictor.Farther(test.ratios, test.link); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// inSeveralCaches checks that two applications that may use any of several caches are
// predicted at the mean over their placements, within an interval that holds both.
func inSeveralCaches(t *testing.T, fitted *predictor.Calibration, apps []*predictor.Application) {
	var worst [2]int
	most := units.NormalizedPerformance(-1)
	applied := map[int][]*predictor.Application{}
	for _, caches := range []int{1, 2, 4} {
		for _, a := range apps {
			one, err := fitted.InCaches(caches).Apply(a)
			if err != nil {
				t.Fatal(err)
			}
			applied[caches] = append(applied[caches], one)
		}
	}
	in := func(caches int, i, j int) predictor.Prediction {
		both := []*predictor.Application{applied[caches][i], applied[caches][j]}
		p, err := predictor.Predict(both[0], both[1:], predictor.Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var w predictor.Workspace
		if got := w.Performances(nil, both)[0]; got != p.NormalizedPerformance {
			t.Errorf("%d caches: %v, %v in a workspace", caches, p.NormalizedPerformance, got)
		}
		return p
	}
	for i := range apps {
		for j := range apps {
			if i == j {
				continue // warnings tell them apart by name
			}
			gained := in(2, i, j).NormalizedPerformance - in(1, i, j).NormalizedPerformance
			if gained > most {
				most, worst = gained, [2]int{i, j}
			}
		}
	}
	one, two, four := in(1, worst[0], worst[1]), in(2, worst[0], worst[1]), in(4, worst[0], worst[1])
	apart := 2*two.NormalizedPerformance - one.NormalizedPerformance
	if !(apart > one.NormalizedPerformance+0.05) {
		t.Fatalf("performance %v in one cache, %v in two: no application loses by the cache", one.NormalizedPerformance, apart)
	}
	if want := one.NormalizedPerformance/4 + apart*3/4; math.Abs(float64(four.NormalizedPerformance-want)) > 1e-9 {
		t.Errorf("four caches: %v, want %v", four.NormalizedPerformance, want)
	}
	if two.Interval.Low > apart.Slowdown() || two.Interval.High < one.Slowdown {
		t.Errorf("two caches: interval %v holds not both %v and %v", two.Interval, apart.Slowdown(), one.Slowdown)
	}
	if !strings.Contains(four.Explanation.Equation, "placements in 4 caches") || !strings.Contains(strings.Join(four.Warnings, " "), "which of 4 shared caches") {
		t.Errorf("four caches: %s; warnings %q", four.Explanation.Equation, four.Warnings)
	}
	both := applied[4]
	knownPlaces(t, both[worst[0]], both[worst[1]], one, apart)
	if alone := applied[1]; !reflect.DeepEqual(one, predictIn(t, alone[worst[0]].In(1), alone[worst[1]].In(2))) {
		t.Error("where there is one cache, it matters which one is said")
	}
}

// idleAndReordered checks that in several caches, applications that cause nothing change
// nothing, and neither does the order of the others.
func idleAndReordered(t *testing.T, fitted *predictor.Calibration, apps []*predictor.Application) {
	t.Helper()
	var five []*predictor.Application
	for _, a := range apps {
		one, err := fitted.InCaches(4).Apply(a)
		if err != nil {
			t.Fatal(err)
		}
		five = append(five, one)
	}
	var w predictor.Workspace
	idle := predictor.Unprofiled("idle")
	oneKnown := append([]*predictor.Application{five[0].In(predictor.CachesOf(0))}, five[1:]...)
	for _, all := range [][]*predictor.Application{five, oneKnown} {
		want := w.Performances(nil, all)
		for _, extra := range []*predictor.Application{idle, idle.In(predictor.CachesOf(9))} {
			got := w.Performances(nil, append(slices.Clone(all), extra))
			for i, p := range want {
				if math.Abs(float64(got[i]-p)) > 1e-9 {
					t.Errorf("%s: %v beside an idle application, %v without", all[i].Name(), got[i], p)
				}
			}
		}
	}
	stream, err := predictor.Assumed("stream", units.Traffic{Read: 3e9})
	if err != nil {
		t.Fatal(err)
	}
	residents := append(slices.Clone(five[1:]), stream, stream)
	want := w.Performances(nil, append(five[:1:1], residents...))[0]
	slices.Reverse(residents)
	if got := w.Performances(nil, append(five[:1:1], residents...))[0]; math.Abs(float64(got-want)) > 1e-9 {
		t.Errorf("%v, %v in another order", got, want)
	}
}

// predictIn predicts a target and its co-runners, and checks that a workspace agrees.
func predictIn(t *testing.T, target *predictor.Application, corunners ...*predictor.Application) predictor.Prediction {
	t.Helper()
	p, err := predictor.Predict(target, corunners, predictor.Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	var w predictor.Workspace
	if got := w.Performances(nil, append([]*predictor.Application{target}, corunners...))[0]; math.Abs(float64(got-p.NormalizedPerformance)) > 1e-6 {
		t.Errorf("%v, %v in a workspace", p.NormalizedPerformance, got)
	}
	return p
}

// knownPlaces checks what is predicted of two applications on a machine with four caches
// where it is known in which they may run; one is the prediction in one cache, and apart
// the performance in two.
func knownPlaces(t *testing.T, target, other *predictor.Application, one predictor.Prediction, apart units.NormalizedPerformance) {
	t.Helper()
	in := predictor.CachesOf
	for _, test := range []struct {
		name           string
		target, other  predictor.Caches
		together       float64
		warned, unsaid string
	}{
		{"the same cache", in(3), in(3), 1, "", "cache"},
		{"different caches", in(2), in(0), 0, "", "cache"},
		{"any but that of the other", in(1, 2, 3), in(0), 0, target.Name() + " will use", other.Name()},
		{"any of two", in(0, 2), in(0), 0.5, target.Name() + " will use", other.Name()},
		{"two of three in common", in(0, 1, 2), in(1, 2), 1. / 3, target.Name() + ", " + other.Name() + " will use", "each"},
		{"one unknown", predictor.AnyCache, in(3), 0.25, target.Name() + " will use", other.Name()},
		{"one unknown beside one beyond the caches of a memory", predictor.AnyCache, in(7), 0.125, target.Name() + " will use", other.Name()},
	} {
		p := predictIn(t, target.In(test.target), other.In(test.other))
		want := float64(one.NormalizedPerformance)*test.together + float64(apart)*(1-test.together)
		if math.Abs(float64(p.NormalizedPerformance)-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", test.name, p.NormalizedPerformance, want)
		}
		warnings := ""
		for _, w := range p.Warnings {
			if strings.Contains(w, "shared caches") {
				warnings += w
			}
		}
		if !strings.Contains(warnings, test.warned) || strings.Contains(warnings, test.unsaid) {
			t.Errorf("%s: warnings %q", test.name, p.Warnings)
		}
		if known := test.warned == ""; strings.Contains(p.Explanation.Equation, "it is known who uses which") != known {
			t.Errorf("%s: %s", test.name, p.Explanation.Equation)
		}
	}
	if again := target.In(3).In(predictor.AnyCache); again != target {
		t.Error("an application without a place is another one")
	}
	// Among many, those of unknown place are taken in random ones.
	idle, err := predictor.Assumed("idle", units.Traffic{Read: 1})
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat([]*predictor.Application{idle}, 9)
	many[0] = other.In(in(0))
	p := predictIn(t, target.In(in(0, 1)), many...)
	if mean := (one.NormalizedPerformance + apart) / 2; math.Abs(float64(p.NormalizedPerformance-mean)) > 0.3*float64(apart-one.NormalizedPerformance) {
		t.Errorf("%v beside many of unknown place, want about %v", p.NormalizedPerformance, mean)
	}
}

// Points in the cache that are noisy, few, or of small working sets only are left out,
// because they spoil predictions.
func TestUsableCachePoints(t *testing.T) {
	const cache = 32 << 20
	precise, noisy := new(0.08), new(0.3)
	// points are those of onboarding: three levels of each working set, and one beyond the
	// cache.
	points := func(spread *float64, parts ...float64) []v1alpha1.CachePoint {
		var all []v1alpha1.CachePoint
		for _, part := range parts {
			p := v1alpha1.CachePoint{FootprintBytes: int64(part * cache), NormalizedPerformance: 0.9, Spread: spread, Repeats: 4}
			all = append(all, slices.Repeat([]v1alpha1.CachePoint{p}, 3)...)
		}
		return append(all, v1alpha1.CachePoint{FootprintBytes: 8 * cache, NormalizedPerformance: 0.9, Spread: spread, Repeats: 4})
	}
	for _, test := range []struct {
		name   string
		points []v1alpha1.CachePoint
		want   int
	}{
		{"none", nil, 0},
		{"precise", points(precise, 0.25, 0.5, 0.75), 10},
		{"some noisy", append(points(precise, 0.5, 0.75), points(noisy, 0.25)...), 7},
		{"most noisy", append(points(noisy, 0.25, 0.5), points(precise, 0.75)...), 0},
		{"few", points(precise, 0.75), 0},
		{"the cache is smaller than it seems", points(precise, 0.25, 0.5), 0},
		{"simulated, without a spread", points(nil, 0.25, 0.5, 1), 10},
	} {
		if got := len(predictor.UsableCachePoints(test.points)); got != test.want {
			t.Errorf("%s: %d points, want %d", test.name, got, test.want)
		}
	}
}
