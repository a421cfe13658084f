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
	near := compiled(t, withCurve(profileOf("far", 10, 1), 1, 0.9, 0.9, 0.8, 0.6, 0.4))
	far, err := near.WithDistance(Distance{TargetTraffic: units.TrafficOf(18*gb, 1), TimeRatio: 1.8})
	if err != nil {
		t.Fatal(err)
	}
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
