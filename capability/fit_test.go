package capability_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/capability"
)

// Points on a line give the line back, with no interval, however they are weighted.
func TestFitLineRecovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := capability.Line{
			Base: capability.Cost(rapid.Float64Range(1, 1000).Draw(t, "base")),
			Each: capability.Cost(rapid.Float64Range(0.1, 100).Draw(t, "each")),
		}
		var points []capability.FitPoint
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 4096), 3, 12, rapid.ID[int]).Draw(t, "places") {
			points = append(points, capability.FitPoint{N: n, Cost: want.At(n)})
		}
		for _, relative := range []bool{false, true} {
			got, err := capability.FitLine(points, relative)
			if err != nil {
				t.Fatal(err)
			}
			scale := float64(want.At(4096))
			if math.Abs(float64(got.Line.Base-want.Base)) > 1e-8*scale || math.Abs(float64(got.Line.Each-want.Each)) > 1e-8*scale ||
				got.BaseInterval > capability.Cost(1e-6*scale) {
				t.Fatalf("relative %t: got %+v, want %+v", relative, got, want)
			}
		}
	})
}

// By hand: (1, 1), (2, 2), (3, 4): β = 1.5, α = −2/3, residuals 1/6, −1/3, 1/6, so
// s² = 1/6 with one degree of freedom, t = 12.7062.
func TestFitLineInterval(t *testing.T) {
	got, err := capability.FitLine([]capability.FitPoint{{N: 1, Cost: 1}, {N: 2, Cost: 2}, {N: 3, Cost: 4}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := capability.LineFit{
		Line:         capability.Line{Base: -2.0 / 3, Each: 1.5},
		BaseInterval: capability.Cost(12.7062 * math.Sqrt(1.0/6*(1.0/3+4.0/2))),
		EachInterval: capability.Cost(12.7062 * math.Sqrt(1.0/6/2)),
	}
	for name, pair := range map[string][2]capability.Cost{
		"base": {got.Line.Base, want.Line.Base}, "each": {got.Line.Each, want.Line.Each},
		"interval of the base": {got.BaseInterval, want.BaseInterval}, "interval of each": {got.EachInterval, want.EachInterval},
	} {
		if math.Abs(float64(pair[0]-pair[1])) > 1e-3 {
			t.Errorf("%s: got %v, want %v", name, float64(pair[0]), float64(pair[1]))
		}
	}
}

// With noise of equal relative size, the 95% intervals hold α and β in 95% of
// the cases, within what 2,000 cases can tell.
func TestFitLineIntervalsCover(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	base, each := 0, 0
	for range trials {
		var points []capability.FitPoint
		for n := 1; n <= 4096; n *= 2 {
			points = append(points, capability.FitPoint{N: n, Cost: capability.Cost((100 + 8*float64(n)) * (1 + 0.05*random.NormFloat64()))})
		}
		fit, err := capability.FitLine(points, true)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(fit.Line.Base-100)) <= float64(fit.BaseInterval) {
			base++
		}
		if math.Abs(float64(fit.Line.Each-8)) <= float64(fit.EachInterval) {
			each++
		}
	}
	for name, covered := range map[string]int{"base": base, "each": each} {
		if share := float64(covered) / trials; share < 0.92 || share > 0.98 {
			t.Errorf("%s: %.3f of the intervals hold it", name, share)
		}
	}
}

func TestFitLineRefuses(t *testing.T) {
	two := []capability.FitPoint{{N: 1, Cost: 5}, {N: 2, Cost: 6}, {N: 2, Cost: 7}}
	for _, points := range [][]capability.FitPoint{nil, two[:1], two} {
		if _, err := capability.FitLine(points, false); !errors.Is(err, capability.ErrTooFewPoints) {
			t.Errorf("%v: %v", points, err)
		}
	}
	for _, bad := range []capability.Cost{0, -1, capability.Cost(math.NaN()), capability.Cost(math.Inf(1))} {
		if _, err := capability.FitLine(append(two, capability.FitPoint{N: 3, Cost: bad}), true); err == nil || !strings.Contains(err.Error(), "cost of 3") {
			t.Errorf("%v: %v", float64(bad), err)
		}
	}
}
