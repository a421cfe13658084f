package main

import (
	"math"
	"testing"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

func TestNoiseIsHalfTheDifferenceOfTheHalves(t *testing.T) {
	pairs := func(performance ...units.NormalizedPerformance) (all []onboard.Pair) {
		for _, p := range performance {
			all = append(all, onboard.Pair{Result: onboard.Result{NormalizedPerformance: p}})
		}
		return all
	}
	got := noiseOf([2][]onboard.Pair{pairs(0.9, 0.8), pairs(0.86, 0.92)})
	want := noise{mean: 4, sd: 2, worst: 6, square: 20}
	for _, v := range [][2]float64{{got.mean, want.mean}, {got.sd, want.sd}, {got.worst, want.worst}, {got.square, want.square}} {
		if math.Abs(v[0]-v[1]) > 1e-9 {
			t.Fatalf("noise %+v, want %+v", got, want)
		}
	}
}

func TestPartsAddUpAndAreToldApart(t *testing.T) {
	// error = 1 + 2·(±1 by target) + 3·(±1 by co-runner) + 4·(±1 by their product)
	var rows []evaluation.Row
	for target, a := range map[string]float64{"a": 1, "b": -1} {
		for corunner, b := range map[string]float64{"x": 1, "y": -1} {
			e := 1 + 2*a + 3*b + 4*a*b
			rows = append(rows,
				evaluation.Row{Target: target, Corunner: corunner, Method: predictor.Default, Predicted: units.NormalizedPerformance(0.5 + e/100), Measured: 0.5},
				evaluation.Row{Target: target, Corunner: corunner, Method: predictor.Memgen, Predicted: 1})
		}
	}
	got := partsOf(rows, predictor.Default)
	want := parts{total: 30, common: 1, target: 4, corunner: 9, rest: 16}
	for _, v := range [][2]float64{{got.total, want.total}, {got.common, want.common}, {got.target, want.target}, {got.corunner, want.corunner}, {got.rest, want.rest}} {
		if math.Abs(v[0]-v[1]) > 1e-9 {
			t.Fatalf("parts %+v, want %+v", got, want)
		}
	}
}
