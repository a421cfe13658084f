package predictor

import (
	"math"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// A distant co-runner's curves are read where the memory carries as much in all
// as it does with the co-runner where it stands.
func TestTrafficIsConservedByDistance(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 16, 1), 1, 0.9, 0.95, 0.9, 0.8, 0.7))
	far := compiled(t, withDistance(withCurve(profileOf("far", 10, 1), 1, 0.9, 0.9, 0.8, 0.6, 0.4), 18, 1.8))
	var e curveSolver
	e.reset([]*Application{target, far}, true)
	e.solve(false)
	others, p := e.traffic(1).Total(), e.performance[1]
	// Where on the curve that performance stands.
	low, high := units.Bandwidth(0), others
	for range 60 {
		middle := (low + high) / 2
		if far.respond(units.TrafficOf(middle, 1), e.capacity).performance > p {
			low = middle
		} else {
			high = middle
		}
	}
	atHome := high + 18*gb*units.Bandwidth(p)
	here := others + 10*gb*units.Bandwidth(far.away(p))
	if math.Abs(float64(atHome/here-1)) > 1e-3 {
		t.Errorf("the memory carries %v with it at home, %v where it stands", atHome, here)
	}
	if high >= others {
		t.Errorf("read beside %v, want less than the %v that the others cause", high, others)
	}
}

// The doubt in a prediction is that of what bursts do, and bursts beyond the measured
// pressure are reported as extrapolated, where mean traffic says nothing of either.
func TestBurstsAreInTheInterval(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 4, 1), 1, 1, 1, 1, 0.4, 0.2))
	for _, test := range []struct {
		burst  float64 // GB/s, a quarter of the time
		beyond units.Bandwidth
	}{{18, 0}, {32, 12 * gb}} {
		bursty := profileOf("bursty", test.burst/4, 1)
		bursty.Spec.Phases = []v1alpha1.Phase{{TimeShare: 0.75}, {TimeShare: 0.25, ReadBytesPerSecond: test.burst * gb}}
		p, err := Predict(target, []*Application{compiled(t, bursty)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		lost := 1 - float64(p.NormalizedPerformance)
		if lost < 0.15 {
			t.Fatalf("bursts of %v GB/s take %.3f of the performance: they test nothing", test.burst, lost)
		}
		var s curveSolver
		s.reset([]*Application{target, compiled(t, bursty)}, true)
		s.solveInPhases(false)
		if got, want := s.extrapolated, 0.25*float64(s.furthest.measured-s.furthest.performance); math.Abs(got-want) > 1e-9 || (want > 0) != (test.beyond > 0) {
			t.Errorf("bursts of %v GB/s: %.3f extrapolated, want a quarter of those in bursts, %.3f", test.burst, got, want)
		}
		half := normal90 * depthError * lost
		if low := float64(p.Interval.High.NormalizedPerformance()); low > 1-lost-half {
			t.Errorf("bursts of %v GB/s: %.3f, at least %.3f: want a half width of %.3f", test.burst, 1-lost, low, half)
		}
		if math.Abs(float64(p.Extrapolated-test.beyond)) > 0.01*gb {
			t.Errorf("bursts of %v GB/s: %v extrapolated, want %v", test.burst, p.Extrapolated, test.beyond)
		}
	}
}

// A group is no faster than its pairs compounded.
func TestGroupsAreHeldToTheirPairs(t *testing.T) {
	bursty := profileOf("bursty", 8, 1)
	bursty.Spec.Phases = []v1alpha1.Phase{{TimeShare: 0.75}, {TimeShare: 0.25, ReadBytesPerSecond: 32 * gb}}
	withCurve(bursty, 1, 1, 0.99, 0.97, 0.9, 0.6)
	// Its curve is flat up to half of the pressure, so that mean traffic hides
	// what bursts do.
	target := compiled(t, withCurve(profileOf("target", 4, 1), 1, 1, 1, 1, 0.7, 0.5))
	other := compiled(t, bursty)
	var w Workspace
	pair := w.Performances(nil, []*Application{target, other})[0]
	for n := 2; n <= 4; n++ {
		apps := []*Application{target}
		product := units.NormalizedPerformance(1)
		for range n {
			apps = append(apps, other)
			product *= pair
		}
		if got := w.Performances(nil, apps)[0]; got > product+1e-9 || got <= 0 {
			t.Errorf("%d neighbors: %v, each alone %v, compounded %v", n, got, pair, product)
		}
	}
}

// Thousands of neighbors are a sum, not an explosion.
func TestManyNeighbors(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 4, 1), 1, 1, 0.95, 0.9, 0.8, 0.7))
	idle := compiled(t, withCurve(profileOf("idle", 0.001, 1), 1, 1, 0.95, 0.9, 0.8, 0.7))
	apps := []*Application{target}
	for range 1000 {
		apps = append(apps, idle)
	}
	var w Workspace
	got := float64(w.Performances(nil, apps)[0])
	want := float64(target.respond(units.TrafficOf(1*gb, 1), capacityOf(apps)).performance)
	if math.Abs(got-want) > 5e-3 {
		t.Errorf("%v beside a thousand idle neighbors, %v beside their sum", got, want)
	}
}

// A group grows no faster by one more that causes traffic.
func TestOneMoreNeverHelps(t *testing.T) {
	loud := compiled(t, withCurve(profileOf("loud", 5, 1), 1, 1, 0.80, 0.75, 0.72, 0.70))
	var apps []*Application
	before := units.NormalizedPerformance(1)
	var w Workspace
	for range 4 * mostPartners {
		apps = append(apps, loud)
		all := w.Performances(nil, apps)
		if all[0] > before+1e-6 {
			t.Errorf("%d copies: %v, %v with one fewer", len(apps), all[0], before)
		}
		if last := all[len(all)-1]; math.Abs(float64(last-all[0])) > 1e-4 {
			t.Errorf("%d copies: the first has %v, the last %v", len(apps), all[0], last)
		}
		before = all[0]
	}
}
