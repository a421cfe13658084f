package main

import (
	"fmt"
	"io"
	"math"

	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// noise is what the repeats alone say of the medians of the pairs: the mean and
// the largest difference between those of the even and those of the odd repeats,
// halved. Where f is the error of one half, the halves differ by √2·f and the
// whole is off by f ÷ √2.
type noise struct{ mean, sd, worst, square float64 }

func noiseOf(halves [2][]onboard.Pair) noise {
	var errors []float64
	for i, even := range halves[0] {
		difference := float64(even.NormalizedPerformance - halves[1][i].NormalizedPerformance)
		errors = append(errors, 100*difference/2)
	}
	mean, sd, worst := absolute(errors)
	return noise{mean, sd, worst, meanSquare(errors)}
}

// absolute is the mean, standard deviation and maximum of absolute values.
func absolute(values []float64) (mean, sd, worst float64) {
	var sum, squares float64
	for _, v := range values {
		sum, squares, worst = sum+math.Abs(v), squares+v*v, max(worst, math.Abs(v))
	}
	n := float64(len(values))
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean)), worst
}

func meanSquare(values []float64) float64 {
	var squares float64
	for _, v := range values {
		squares += v * v
	}
	return squares / float64(len(values))
}

// parts are the mean squares that a method's errors fall into, in squared
// points: what all pairs share, what all pairs of a target share beyond that,
// what all of a co-runner share, and the rest, of which noise is a part.
type parts struct{ total, common, target, corunner, rest float64 }

// partsOf divides the errors of a square of pairs.
func partsOf(rows []evaluation.Row, method predictor.Method) parts {
	var all []float64
	byTarget, byCorunner := map[string][]float64{}, map[string][]float64{}
	for _, r := range rows {
		if r.Method != method {
			continue
		}
		all = append(all, r.Error())
		byTarget[r.Target] = append(byTarget[r.Target], r.Error())
		byCorunner[r.Corunner] = append(byCorunner[r.Corunner], r.Error())
	}
	common := average(all)
	p := parts{total: meanSquare(all), common: common * common}
	p.target, p.corunner = effect(byTarget, common), effect(byCorunner, common)
	p.rest = p.total - p.common - p.target - p.corunner
	return p
}

// effect is the mean square of the group means around the common mean.
func effect(groups map[string][]float64, common float64) float64 {
	var squares float64
	for _, values := range groups {
		d := average(values) - common
		squares += d * d
	}
	return squares / float64(len(groups))
}

func average(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func writeDecomposition(w io.Writer, m *measured, result *evaluation.Result) {
	if m.halves[0] == nil {
		return
	}
	n := noiseOf(m.halves)
	p := partsOf(result.Rows, predictor.Default)
	fmt.Fprint(w, "\n| part of the mean square error of `default` | points² | share |\n|---|---|---|\n")
	for _, row := range []struct {
		name  string
		value float64
	}{
		{"all", p.total},
		{"common to all pairs", p.common},
		{"common to a target", p.target},
		{"common to a co-runner", p.corunner},
		{"of single pairs", p.rest},
		{"thereof noise of the repeats", n.square},
	} {
		fmt.Fprintf(w, "| %s | %.1f | %.0f%% |\n", row.name, row.value, 100*row.value/p.total)
	}
}
