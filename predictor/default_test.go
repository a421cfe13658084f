package predictor

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/predictor/cache"
	"bandmate.dev/bandmate/units"
)

func TestDefaultByHand(t *testing.T) {
	// The interferer achieves 80% of its solo bandwidth at every level.
	target := withCurve(profileOf("target", 10, 1), 1, 0.8, 0.9, 0.8, 0.7, 0.6)
	tests := []struct {
		name  string
		other *Application
		want  float64
	}{
		// 8 GB/s are what the interferer achieved at 10 GB/s.
		{"an undisturbed neighbor", compiled(t, profileOf("other", 8, 1)), 0.8},
		{"no traffic", compiled(t, profileOf("other", 0, 1)), 1},
		// Beside anyone the neighbor keeps half of its 16 GB/s, so 8 GB/s.
		{"a neighbor that slows down", compiled(t, withCurve(profileOf("other", 16, 1), 1, 1, 0.5, 0.5, 0.5, 0.5)), 0.8},
	}
	for _, test := range tests {
		p, err := Predict(compiled(t, target), []*Application{test.other}, Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(p.NormalizedPerformance)-test.want) > 1e-3 {
			t.Errorf("%s: %v, want %v: %s", test.name, p.NormalizedPerformance, test.want, p.Explanation.Equation)
		}
	}
}

func TestTwinsSlowDownAlike(t *testing.T) {
	twin := compiled(t, withCurve(profileOf("twin", 15, 0.75), 0.75, 0.7, 0.95, 0.85, 0.7, 0.5))
	p, err := Predict(twin, []*Application{twin}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.CorunnerSlowdowns["twin"]; math.Abs(float64(got-p.Slowdown)) > 1e-3 {
		t.Errorf("target %v, co-runner %v", p.Slowdown, got)
	}
}

func TestAloneIsUndisturbed(t *testing.T) {
	a := compiled(t, withCurve(profileOf("a", 15, 0.75), 0.75, 0.7, 0.95, 0.85, 0.7, 0.5))
	for _, m := range Methods() {
		p, err := Predict(a, nil, Options{Method: m})
		if err != nil {
			t.Fatal(err)
		}
		if p.Slowdown != 1 || p.Interval.Low != 1 || p.Pressure.ReadShare != nil || len(p.Warnings) > 0 {
			t.Errorf("%s: %+v", m, p)
		}
	}
}

func TestWarnings(t *testing.T) {
	target := func(achieved float64) *Application {
		return compiled(t, withCurve(profileOf("target", 10, 1), 0.75, achieved, 0.9, 0.8, 0.7, 0.6))
	}
	silent := profileOf("target", 0, 1)
	silent.Spec.Contentiousness.Source = ""
	random := withCurve(profileOf("target", 10, 1), 0.75, 1, 0.9, 0.8, 0.7, 0.6)
	random.Spec.Curves[0].Pattern = "random"
	byTwo := withCurve(profileOf("target", 10, 1), 0.75, 1, 0.9, 0.8, 0.7, 0.6)
	for i := range byTwo.Spec.Curves[0].Points {
		byTwo.Spec.Curves[0].Points[i].Level *= 2
	}
	tests := []struct {
		name      string
		target    *Application
		gbps      float64
		readShare float64
		want      string
	}{
		{"achieved bandwidth missing", target(0), 5, 0.75, "achieved bandwidth was not recorded"},
		{"outside the read shares", target(1), 5, 0.5, "read share of 50% lies outside"},
		{"beyond the measured pressure", target(1), 30, 0.75, "10.0 GB/s above the highest measured: extrapolated"},
		{"hardly beyond the measured pressure", target(1), 20.5, 0.75, "up to 1.1 times as high (2 interferers)"},
		{"beyond two interferers", compiled(t, byTwo), 30, 0.75, "up to 1.5 times as high (3 interferers)"},
		{"co-runner without curves", target(1), 5, 0.75, "other has no sensitivity curves"},
		{"target of unknown traffic", compiled(t, withCurve(silent, 0.75, 1, 0.9, 0.8)), 5, 0.75, "contentiousness of target is unknown"},
		{"another pattern", compiled(t, random), 5, 0.75, "those of the random pattern are used"},
	}
	for _, test := range tests {
		p, err := Predict(test.target, []*Application{compiled(t, profileOf("other", test.gbps, test.readShare))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Warnings, "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, got, test.want)
		}
		want := units.Bandwidth(0)
		if test.gbps > 20 { // the highest that was measured
			want = units.Bandwidth(test.gbps-20) * units.GigabytePerSecond
		}
		if math.Abs(float64(p.Extrapolated-want)) > 1 {
			t.Errorf("%s: %v extrapolated, want %v", test.name, p.Extrapolated, want)
		}
	}
}

func TestLowestBeside(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 10, 1), 0.75, 1, 0.9, 0.8, 0.7, 0.6)) // to 20 GB/s
	light, heavy := compiled(t, profileOf("light", 5, 1)), compiled(t, profileOf("heavy", 30, 1))
	if got := target.lowestBeside(light); got != 0 {
		t.Errorf("%v without points in the cache, want none", got)
	}
	target.besideCache = []cache.Point{{Performance: 0.9}, {Performance: 0.6}, {Performance: 0.8}}
	if got := target.lowestBeside(light); math.Abs(float64(got-0.58)) > 1e-9 {
		t.Errorf("%v beside less traffic than was measured, want 0.58", got)
	}
	if got := target.lowestBeside(heavy); got != 0 {
		t.Errorf("%v beside more traffic than was measured, want none", got)
	}
}

// What is said of a shared cache leads to what is predicted.
func TestExplanationEndsAtTheBound(t *testing.T) {
	var s modelSolver
	s.apps, s.shares = []*Application{Unprofiled("a")}, []cache.Result{{Performance: 0.5}}
	s.rates, s.performance = []float64{0.5}, []units.NormalizedPerformance{0.58}
	if got := s.explainShared(); !strings.HasSuffix(got, "bandwidth: 0.5000; no lower than beside any interferer: 0.5800") {
		t.Error(got)
	}
	s.performance[0] = 0.5
	if got := s.explainShared(); !strings.HasSuffix(got, "bandwidth: 0.5000") {
		t.Error(got)
	}
}

func TestPredictRefuses(t *testing.T) {
	full := compiled(t, withCurve(profileOf("full", 10, 1), 1, 1, 0.9, 0.8))
	bare := compiled(t, profileOf("bare", 10, 1))
	silentProfile := profileOf("silent", 0, 1)
	silentProfile.Spec.Contentiousness.Source = ""
	silent := compiled(t, silentProfile)
	if _, err := Predict(bare, []*Application{full}, Options{}); !errors.Is(err, ErrNoCurves) || !strings.Contains(err.Error(), "bare") {
		t.Errorf("target without curves: %v", err)
	}
	if _, err := Predict(full, []*Application{silent}, Options{}); !errors.Is(err, ErrNoContentiousness) || !strings.Contains(err.Error(), "silent") {
		t.Errorf("co-runner of unknown traffic: %v", err)
	}
	if _, err := Predict(full, nil, Options{Method: "oracle"}); err == nil {
		t.Error("unknown method: no error")
	}
}

// Whatever the profiles, a prediction is a finite number in range, the same
// every time, whatever the order of the co-runners, and it can be printed.
func TestAnyPredictionIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var apps []*Application
		for i := range rapid.IntRange(2, 4).Draw(t, "applications") {
			a, err := Compile(drawProfile(t, string(rune('a'+i))))
			if err != nil {
				t.Fatal(err)
			}
			apps = append(apps, a)
		}
		for _, m := range Methods() {
			p, err := Predict(apps[0], apps[1:], Options{Method: m, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			if !(p.NormalizedPerformance >= curves.Floor && p.NormalizedPerformance <= 1) {
				t.Fatalf("%s: performance %v", m, p.NormalizedPerformance)
			}
			if !(p.Interval.Low >= 1 && p.Interval.Low <= p.Slowdown+1e-9 && p.Interval.High >= p.Slowdown-1e-9) &&
				p.NormalizedPerformance > curves.Floor {
				t.Fatalf("%s: slowdown %v outside %+v", m, p.Slowdown, p.Interval)
			}
			if _, err := json.Marshal(p); err != nil {
				t.Fatalf("%s: %v", m, err)
			}
			reversed := slices.Clone(apps[1:])
			slices.Reverse(reversed)
			swapped, err := Predict(apps[0], reversed, Options{Method: m})
			if d := math.Abs(float64(swapped.NormalizedPerformance - p.NormalizedPerformance)); err != nil || d > 1e-3 {
				t.Fatalf("%s: %v, co-runners reversed %v", m, p.NormalizedPerformance, swapped.NormalizedPerformance)
			}
			again, _ := Predict(apps[0], apps[1:], Options{Method: m, Explain: true})
			if diff := cmp.Diff(p, again); diff != "" {
				t.Fatalf("%s: a second time differs:\n%s", m, diff)
			}
		}
	})
}

// Steep curves make the iteration of a pair circle; what is returned is
// a fixed point all the same.
func TestAnyPairSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, errA := Compile(drawProfile(t, "a"))
		b, errB := Compile(drawProfile(t, "b"))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		var e curveSolver
		e.reset([]*Application{a, b}, true)
		e.solve(false)
		if !e.solved {
			t.Fatal("no convergence")
		}
		e.solvePair()
		low, high := e.performance[0]-1e-6, e.performance[0]+1e-6
		answerAt := func(x units.NormalizedPerformance) units.NormalizedPerformance {
			e.performance[0] = x
			e.performance[1] = e.respond(1)
			return e.respond(0)
		}
		if low > 0 && answerAt(low) < low || high < 1 && answerAt(high) > high {
			t.Fatalf("no fixed point near %v: answers %v and %v", low+1e-6, answerAt(low), answerAt(high))
		}
	})
}

func TestExtrapolation(t *testing.T) {
	a := compiled(t, withCurve(profileOf("a", 10, 1), 1, 1, 0.95, 0.9, 0.8, 0.7))
	const capacity = 40 * gb
	at := func(gbps float64) float64 {
		return float64(a.respond(units.TrafficOf(units.Bandwidth(gbps*gb), 1), capacity).performance)
	}
	if math.Abs(at(20)-0.7) > 1e-6 || math.Abs(at(20.001)-0.7) > 1e-3 {
		t.Errorf("not continuous at the highest point: %v, %v", at(20), at(20.001))
	}
	last := at(20)
	for gbps := 21.0; gbps < 80; gbps++ {
		// Beyond the capacity there is nothing left to fall.
		if now := at(gbps); !(now < last || gbps > 38 && now == last) || now < float64(curves.Floor) {
			t.Errorf("%v GB/s: %v after %v", gbps, now, last)
		} else {
			last = now
		}
	}
}

func TestPredictionAsJSON(t *testing.T) {
	target := withCurve(profileOf("solver", 12, 0.7), 0.5, 0.9, 0.95, 0.85, 0.7, 0.5)
	withCurve(target, 1, 0.9, 0.97, 0.9, 0.8, 0.65)
	other := withCurve(profileOf("etl", 14, 0.6), 0.5, 0.9, 0.98, 0.9, 0.85, 0.8)
	p, err := Predict(compiled(t, target), []*Application{compiled(t, other), compiled(t, profileOf("logger", 1, 0.5))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Want(t, "testdata/prediction.golden.json", append(got, '\n'))
}

func BenchmarkDefaultPair(b *testing.B) {
	x := compiled(b, withCurve(withCurve(profileOf("x", 12, 0.7), 0.5, 0.9, 0.95, 0.85, 0.7, 0.5), 1, 0.9, 0.97, 0.9, 0.8, 0.65))
	y := compiled(b, withCurve(withCurve(profileOf("y", 14, 0.8), 0.5, 0.8, 0.9, 0.8, 0.6, 0.4), 1, 0.8, 0.95, 0.85, 0.7, 0.6))
	corunners := []*Application{y}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Predict(x, corunners, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// With three phases each, nine combinations are solved.
func BenchmarkWorkspacePairInPhases(b *testing.B) {
	var apps []*Application
	for _, name := range []string{"x", "y"} {
		p := withCurve(withCurve(profileOf(name, 12, 0.7), 0.5, 0.9, 0.95, 0.85, 0.7, 0.5), 1, 0.9, 0.97, 0.9, 0.8, 0.65)
		for _, gbps := range []float64{2, 10, 24} {
			p.Spec.Phases = append(p.Spec.Phases, v1alpha1.Phase{
				TimeShare: 1.0 / 3, ReadBytesPerSecond: gbps * gb * 0.7, WriteBytesPerSecond: gbps * gb * 0.3,
			})
		}
		apps = append(apps, compiled(b, p))
	}
	if len(apps[0].phases) != 3 {
		b.Fatalf("%d phases, want 3", len(apps[0].phases))
	}
	benchmarkWorkspace(b, apps)
}

func BenchmarkCompile(b *testing.B) {
	p := withCurve(withCurve(profileOf("x", 12, 0.7), 0.5, 0.9, 0.95, 0.85, 0.7, 0.5), 1, 0.9, 0.97, 0.9, 0.8, 0.65)
	for b.Loop() {
		if _, err := Compile(p); err != nil {
			b.Fatal(err)
		}
	}
}
