package predictor_test

import (
	"math"
	"os"
	"strings"
	"testing"

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
	fitted, err := predictor.CalibrateCache(apps, predictor.LastLevel{Bytes: machine.Spec.SharedCache.Bytes})
	if err != nil {
		t.Fatal(err)
	}
	return fitted, apps
}

// Applications that share a cache are predicted alike by all who ask, from what is kept of
// them as well, and the explanation says what is cache and what is bandwidth.
func TestApplicationsThatShareACache(t *testing.T) {
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
}
