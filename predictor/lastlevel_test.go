package predictor_test

import (
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// Applications that share a cache are predicted alike by all who ask, from what is kept of
// them as well, and the explanation says what is cache and what is bandwidth.
func TestApplicationsThatShareACache(t *testing.T) {
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
	fitted, err := predictor.CalibrateCache(apps, machine.Spec.SharedCache.Bytes)
	if err != nil {
		t.Fatal(err)
	}
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
}
