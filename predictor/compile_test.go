package predictor

import (
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*v1alpha1.ApplicationProfile)
		want  []string
	}{
		{"no name", func(p *v1alpha1.ApplicationProfile) { p.Name = "" }, []string{"metadata.name is empty"}},
		{"negative traffic", func(p *v1alpha1.ApplicationProfile) { p.Spec.Contentiousness.ReadBytesPerSecond = -1 }, []string{"spec.contentiousness: read -1"}},
		{"uncertainty not a number", func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Contentiousness.RelativeUncertainty = new(math.NaN())
		}, []string{"relativeUncertainty NaN"}},
		{"a level of zero", func(p *v1alpha1.ApplicationProfile) { p.Spec.Curves[0].Points[1].Level = 0 }, []string{"spec.curves: read share 75%, point 1: level 0"}},
		{"performance of zero", func(p *v1alpha1.ApplicationProfile) { p.Spec.Curves[0].Points[1].NormalizedPerformance = 0 }, []string{"75%", "point 1", "normalized performance 0"}},
		{"negative achievement", func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Curves[0].Points[0].AchievedBytesPerSecond = new(-1.0)
		}, []string{"point 0: achievedBytesPerSecond -1"}},
		{"a read share above one", func(p *v1alpha1.ApplicationProfile) { p.Spec.Curves[0].ReadShare = 2 }, []string{"read share 2"}},
		{"a curve without points", func(p *v1alpha1.ApplicationProfile) { p.Spec.Curves[0].Points = nil }, []string{"75%", "no points"}},
		{"a time line that stands still", func(p *v1alpha1.ApplicationProfile) {
			p.Spec.Contentiousness.Timeline = []v1alpha1.TrafficSample{{Seconds: 1}, {Seconds: 1}}
		}, []string{"timeline[1]: duration 0"}},
		{"every fault at once", func(p *v1alpha1.ApplicationProfile) {
			p.Name = ""
			p.Spec.Phases = []v1alpha1.Phase{{TimeShare: -1}}
		}, []string{"metadata.name", "spec.phases[0]"}},
	}
	for _, test := range tests {
		p := withCurve(profileOf("app", 10, 1), 0.75, 1, 0.9, 0.8, 0.7, 0.6)
		test.spoil(p)
		_, err := Compile(p)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", test.name, err, want)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	p := withCurve(profileOf("a", 10, 1), 1, 1, 0.9, 0.8, 0.7, 0.6)
	a, moved := compiled(t, p), compiled(t, withDistance(p.DeepCopy(), 15, 2))
	if want := units.TrafficOf(15*gb, 1); moved.target != want || moved.corunner != a.corunner {
		t.Errorf("traffic %v as a target, %v as a co-runner, want %v and %v", moved.target, moved.corunner, want, a.corunner)
	}
	for _, ratio := range []float64{0, math.Inf(1)} {
		if _, err := Compile(withDistance(p.DeepCopy(), 15, ratio)); err == nil || !strings.Contains(err.Error(), "spec.distance") {
			t.Errorf("a time ratio of %v: %v, want a fault of spec.distance", ratio, err)
		}
	}
	if got := a.away(0.5); got != 0.5 {
		t.Errorf("without a distance: %v, want 0.5", got)
	}
	// Time away: √(2² + 2² − 1) = √7, of 2 undisturbed.
	if got := float64(moved.away(0.5)); math.Abs(got-2/math.Sqrt(7)) > 1e-12 {
		t.Errorf("twice as far: %v", got)
	}
	if got := float64(moved.away(1)); got != 1 {
		t.Errorf("undisturbed: %v", got)
	}
}

func TestPhasesFromATimeline(t *testing.T) {
	p := profileOf("bursty", 10, 1)
	for i := range 200 {
		rate := 2 * gb
		if i%4 == 3 {
			rate = 34 * gb
		}
		p.Spec.Contentiousness.Timeline = append(p.Spec.Contentiousness.Timeline, v1alpha1.TrafficSample{
			Seconds: float64(i + 1), ReadBytesPerSecond: rate,
		})
	}
	phases := compiled(t, p).phases
	if len(phases) != 2 {
		t.Fatalf("%d phases, want 2: %+v", len(phases), phases)
	}
	for i, want := range []phase{{0.75, 0.2, 1, 0.2}, {0.25, 3.4, 1, 3.4}} {
		got := phases[i]
		if math.Abs(got.timeShare-want.timeShare)+math.Abs(got.read-want.read)+math.Abs(got.total-want.total) > 1e-9 {
			t.Errorf("phase %d: %+v, want %+v", i, got, want)
		}
	}
}

func TestSteadyTimelineHasOnePhase(t *testing.T) {
	p := profileOf("steady", 10, 1)
	for i := range 20 {
		p.Spec.Contentiousness.Timeline = append(p.Spec.Contentiousness.Timeline, v1alpha1.TrafficSample{
			Seconds: float64(i + 1), ReadBytesPerSecond: 10*gb + float64(i%2)*gb,
		})
	}
	if phases := compiled(t, p).phases; len(phases) != 1 {
		t.Errorf("%d phases, want 1", len(phases))
	}
}

// A co-runner that is idle half of the time and heavy the other half hurts a
// target of a bent curve less than a steady one of the same mean.
func TestPhasesMatter(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 5, 1), 1, 1, 0.9, 0.8, 0.78, 0.76))
	steadyOne := compiled(t, profileOf("other", 10, 1))
	bursty := profileOf("other", 10, 1)
	bursty.Spec.Phases = []v1alpha1.Phase{{TimeShare: 0.5}, {TimeShare: 0.5, ReadBytesPerSecond: 20 * gb}}
	var got [2]float64
	for i, other := range []*Application{steadyOne, compiled(t, bursty)} {
		p, err := Predict(target, []*Application{other}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = float64(p.NormalizedPerformance)
	}
	// Steady: 0.8 at 10 GB/s. Bursty: half of the time 1, half 0.76.
	if math.Abs(got[0]-0.8) > 1e-3 || math.Abs(got[1]-0.88) > 1e-3 {
		t.Errorf("steady %v, bursty %v, want 0.8 and 0.88", got[0], got[1])
	}
}
