package predictor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// A loss of 8 of 30 GB/s, of which 22 are left, is one by a queue of 28.05 GB/s.
func TestCapacityByHand(t *testing.T) {
	a := compiled(t, withCurve(profileOf("a", 10, 1), 1, 0.8, 0.9, 0.8, 0.7, 0.6))
	if least, most := a.Capacity(); math.Abs(float64(most)-28.05*gb) > 1 || math.Abs(float64(least)-22*headroom*gb) > 1 {
		t.Errorf("%v to %v, want 23.1 to 28.05 GB/s", least, most)
	}
	for name, unknown := range map[string]*Application{
		"no curves":               compiled(t, profileOf("a", 10, 1)),
		"achieved is not known":   compiled(t, withCurve(profileOf("a", 10, 1), 1, 0, 0.9, 0.8, 0.7, 0.6)),
		"nobody lost anything":    compiled(t, withCurve(profileOf("a", 10, 1), 1, 1, 1, 1, 1, 1)),
		"no profile":              Unprofiled("a"),
		"only traffic is assumed": assumed(t, 500),
	} {
		if _, most := unknown.Capacity(); most != 0 {
			t.Errorf("%s: %v, want none", name, most)
		}
		if most := mayCarry([]*Application{unknown}, capacityOf([]*Application{unknown})); !math.IsInf(float64(most), 1) {
			t.Errorf("%s: the memory is taken to carry %v at most", name, most)
		}
	}
}

func assumed(t testing.TB, gbps float64) *Application {
	t.Helper()
	a, err := Assumed("assumed", units.Traffic{Read: units.Bandwidth(gbps * gb)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drawOnOneMemory draws applications that were measured beside 20 GB/s on a memory that may
// carry as much as capacity says, none so steep that a little traffic takes as much.
func drawOnOneMemory(t *rapid.T, n int, capacity float64) []*Application {
	apps := make([]*Application, n)
	for i := range apps {
		depth, bend := rapid.Float64Range(0, 0.6).Draw(t, "depth"), rapid.Float64Range(1, 2).Draw(t, "bend")
		var points []float64
		for level := 1.0; level <= 4; level++ {
			points = append(points, 1-depth*math.Pow(level/4, bend))
		}
		p := withCurve(profileOf(fmt.Sprint("app", i), rapid.Float64Range(0.1, 12).Draw(t, "GB/s"), 1), 1, 1, points...)
		a, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		a.mostBesideInterferer, a.mayCarry = 22*gb, units.Bandwidth(capacity*gb)
		apps[i] = a
	}
	return apps
}

// transferred returns what applications transfer together at these performances.
func transferred(apps []*Application, performances []units.NormalizedPerformance) units.Bandwidth {
	var sum units.Bandwidth
	for i, a := range apps {
		sum += a.corunner.Total() * units.Bandwidth(performances[i])
	}
	return sum
}

// Together, applications transfer no more than the memory carries. One more of them helps
// nobody, nor does one that asks for more. What was within the capacity stays as it is.
func TestGroupsKeepToTheCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(24, 60).Draw(t, "capacity")
		apps := drawOnOneMemory(t, rapid.IntRange(2, 9).Draw(t, "applications"), capacity)
		var w Workspace
		before := w.Performances(nil, apps)
		if sum := transferred(apps, before); sum > units.Bandwidth(capacity*gb)*(1+1e-9) && slices.Min(before) > curves.Floor {
			t.Fatalf("they transfer %v, the memory carries %v GB/s", sum, capacity)
		}
		const settled = 1e-3
		worse := func(what string, after []units.NormalizedPerformance) {
			for i := range before {
				if after[i] > before[i]+settled {
					t.Fatalf("%s: application %d rises from %v to %v", what, i, before[i], after[i])
				}
			}
		}
		more := drawOnOneMemory(t, 1, capacity)[0]
		worse("one more", w.Performances(nil, append(slices.Clone(apps), more)))
		stronger := slices.Clone(apps)
		last := *apps[len(apps)-1]
		last.corunner = last.corunner.Scale(1.3)
		last.target = last.corunner
		stronger[len(apps)-1] = &last
		after := w.Performances(nil, stronger)
		after[len(apps)-1] = 0 // what it does to itself is another question
		worse("a stronger one", after)
	})
}

func TestPairsWithinTheCapacityStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(24, 60).Draw(t, "capacity")
		apps := drawOnOneMemory(t, 2, capacity)
		var free curveSolver
		free.reset(apps, true)
		free.solve(false)
		var w Workspace
		got := w.Performances(nil, apps)
		within := transferred(apps, free.performance) <= units.Bandwidth(capacity*gb)
		if same := slices.Equal(got, free.performance); same != within {
			t.Fatalf("%v, without a capacity %v: want the same only within it", got, free.performance)
		}
	})
}

// Prediction and interval change by little where the traffic of others does.
func TestCapacityIsNoStep(t *testing.T) {
	target := compiled(t, withCurve(profileOf("target", 10, 1), 1, 0.6, 0.95, 0.9, 0.85, 0.8))
	other := profileOf("other", 0, 1)
	var last Prediction
	held := 0
	for gbps := 15.0; gbps < 40; gbps += 0.004 {
		other.Spec.Contentiousness.ReadBytesPerSecond = gbps * gb
		p, err := Predict(target, []*Application{compiled(t, other)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(p.Warnings, "\n"), "the memory carries about 2") {
			held++
		}
		for _, s := range [][2]units.Slowdown{{p.Slowdown, last.Slowdown}, {p.Interval.Low, last.Interval.Low}, {p.Interval.High, last.Interval.High}} {
			if d := float64(s[0].NormalizedPerformance() - s[1].NormalizedPerformance()); last.Slowdown > 0 && math.Abs(d) > 0.004 {
				t.Fatalf("%.2f GB/s: %v in %v after %v in %v", gbps, p.Slowdown, p.Interval, last.Slowdown, last.Interval)
			}
		}
		last = p
	}
	if held == 0 {
		t.Error("the capacity never mattered")
	}
}

// Many alike are as slow as the memory makes them, and all of the prediction says so.
func TestManyAlikeShareTheCapacity(t *testing.T) {
	const capacity = 46.4291 // GB/s: they lose 2.2 of 25
	alike := compiled(t, withCurve(profileOf("alike", 5, 1), 1, 0.9, 0.99, 0.98, 0.97, 0.96))
	for _, n := range []int{16, 100} {
		corunners := slices.Repeat([]*Application{alike}, n-1)
		p, err := Predict(alike, corunners, Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		want := units.Slowdown(float64(n) * 5 / capacity)
		near := func(s units.Slowdown) bool { return math.Abs(float64(s/want-1)) < 1e-3 }
		if !near(p.Slowdown) || !near(p.CorunnerSlowdowns["alike"]) || p.Interval.Low < want/headroom*(1-1e-3) {
			t.Errorf("%d: %v in %+v, the capacity leaves %v", n, p.Slowdown, p.Interval, want)
		}
		if !strings.Contains(p.Explanation.Equation, "slowed down to the 46.4 GB/s that the memory carries") {
			t.Errorf("%d: %s", n, p.Explanation.Equation)
		}
		if p.Extrapolated > capacity*gb {
			t.Errorf("%d: %v beyond the measured pressure, more than the memory carries", n, p.Extrapolated)
		}
	}
}

func TestFromAwayInvertsAway(t *testing.T) {
	for _, ratio := range []float64{0.8, 1, 1.7} {
		a := Application{slowerAway: ratio}
		for _, p := range []units.NormalizedPerformance{1, 0.7, 0.02} {
			if got := a.fromAway(a.away(p)); math.Abs(float64(got-p)) > 1e-12 {
				t.Errorf("ratio %v: %v became %v", ratio, p, got)
			}
		}
	}
}
