package predictor

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/memory"
)

// calibratedApps returns applications with time lines of two phases, all calibrated.
func calibratedApps(t testing.TB, n int) []*Application {
	t.Helper()
	source := rand.New(rand.NewPCG(5, 0))
	apps := make([]*Application, n)
	for i := range apps {
		p := profileOf(string(rune('a'+i)), 2+2*float64(i), 0.8)
		p.Spec.Solo.Seconds = 10 + float64(i)
		depth := 0.1 + 0.3*source.Float64()
		withCurve(p, 0.5, 0.95, 1-depth/8, 1-depth/4, 1-depth/2, 1-depth)
		withCurve(p, 1, 0.95, 1-depth/10, 1-depth/6, 1-depth/3, 1-depth/2)
		for k := range 10 {
			p.Spec.Contentiousness.Timeline = append(p.Spec.Contentiousness.Timeline, v1alpha1.TrafficSample{
				Seconds: float64(k + 1), ReadBytesPerSecond: float64(1+k/5*2) * (1 + float64(i)) * gb,
			})
		}
		apps[i] = compiled(t, p)
	}
	calibration, err := Calibrate(apps, memory.LinkUnknown)
	if err != nil {
		t.Fatal(err)
	}
	for i := range apps {
		if apps[i], err = calibration.Apply(apps[i]); err != nil {
			t.Fatal(err)
		}
	}
	return apps
}

func TestCalibratedPredictions(t *testing.T) {
	apps := calibratedApps(t, 5)
	var w Workspace
	for n := 2; n <= len(apps); n++ {
		p, err := Predict(apps[0], apps[1:n], Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.Basis != MemoryModel || !(p.Slowdown >= p.Interval.Low && p.Slowdown <= p.Interval.High) {
			t.Errorf("%d applications: basis %q, slowdown %v, interval %v", n, p.Basis, p.Slowdown, p.Interval)
		}
		got := w.Performances(nil, apps[:n])
		if math.Abs(float64(got[0]-p.NormalizedPerformance)) > 1e-6 {
			t.Errorf("%d applications: workspace %v, predicted %v", n, got[0], p.NormalizedPerformance)
		}
		if allocations := testing.AllocsPerRun(20, func() { got = w.Performances(got[:0], apps[:n]) }); allocations != 0 {
			t.Errorf("%d applications: %v allocations", n, allocations)
		}
		for i, one := range got {
			if n > 2 && i < n-1 {
				fewer := w.Performances(nil, apps[:n-1])[i]
				if one > fewer+1e-3 {
					t.Errorf("%d applications: %d has %v, without the last %v", n, i, one, fewer)
				}
			}
		}
	}
}

// Two that start together and are heavy at the same time hurt each other more than
// two whose phases meet at random.
func TestTogether(t *testing.T) {
	apps := calibratedApps(t, 5)
	a := apps[4]
	random, err := Predict(a, []*Application{a}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	together, err := Predict(a, []*Application{a}, Options{Together: true})
	if err != nil {
		t.Fatal(err)
	}
	if !(together.Slowdown > random.Slowdown) {
		t.Errorf("together %v, at random %v", together.Slowdown, random.Slowdown)
	}
	if got := together.CorunnerSlowdowns[a.name]; math.Abs(float64(got-together.Slowdown)) > 1e-3 {
		t.Errorf("together %v, its twin %v", together.Slowdown, got)
	}
	unordered := *a
	unordered.sequence = nil
	fallback, err := Predict(&unordered, []*Application{&unordered}, Options{Together: true})
	if err != nil || fallback.Slowdown != random.Slowdown {
		t.Errorf("without an order of phases %v, want %v as at random: %v", fallback.Slowdown, random.Slowdown, err)
	}
}

func TestCalibrationNeedsProfiles(t *testing.T) {
	bare := compiled(t, profileOf("bare", 10, 1))
	if _, err := Calibrate([]*Application{bare}, memory.LinkUnknown); !errors.Is(err, memory.ErrNotEnough) {
		t.Errorf("no curves: %v", err)
	}
	calibration := &Calibration{model: calibratedApps(t, 4)[0].calibrated.model}
	unrecorded := compiled(t, withCurve(profileOf("unrecorded", 10, 1), 1, 0, 0.9, 0.8, 0.7, 0.6))
	if _, err := calibration.Apply(unrecorded); !errors.Is(err, ErrNotCalibrated) {
		t.Errorf("nothing recorded of what the interferer achieved: %v", err)
	}
	undisturbed, err := calibration.Apply(bare)
	if err != nil {
		t.Fatal(err)
	}
	var w Workspace
	if got := w.Performances(nil, []*Application{undisturbed, undisturbed}); got[0] != 1 || got[1] != 1 {
		t.Errorf("without curves: %v", got)
	}
}

// Some applications lose most to reads and others most to writes, which no memory of the
// model does to them.
func TestMachineThatTheModelDoesNotDescribe(t *testing.T) {
	apps := make([]*Application, 6)
	for i := range apps {
		p := profileOf(string(rune('a'+i)), 2+2*float64(i), 0.8)
		withCurve(p, 0.5+0.5*float64(i%2), 0.95, 0.7, 0.4, 0.2, 0.1)
		withCurve(p, 1-0.5*float64(i%2), 0.95, 1, 1, 1, 1)
		apps[i] = compiled(t, p)
	}
	if c, err := Calibrate(apps, memory.LinkNone); !errors.Is(err, ErrNotDescribed) {
		t.Fatalf("calibration %+v, %v; want ErrNotDescribed", c, err)
	}
}

func BenchmarkCalibratedPair(b *testing.B) { benchmarkWorkspace(b, calibratedApps(b, 5)[3:]) }
