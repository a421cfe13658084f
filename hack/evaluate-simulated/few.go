package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// choices is over how many random choices of applications errors are averaged.
const choices = 6

const few = `
## A few applications

A store has few applications at first, and the model of the memory is fitted to these. Each row is
of %d random choices of so many applications of a platform, measured at 50%% and 100%% reads × 4
levels: the mean over the choices of the mean error over all pairs among them, the mean error of the
worst choice, the largest error of all, and the mean coverage. The method of the paper is the one
with the least mean error over pairs of all platforms.
`

// writeFew writes the errors in stores of a few applications.
func writeFew(w io.Writer, all []platform, results []result) error {
	fmt.Fprintf(w, few, choices)
	best := leastError(results, 1)
	study.TableHeader(w, "platform", "applications", string(best), "default", "worst choice", "max", "coverage")
	for _, p := range all {
		for _, n := range []int{4, 6, 10} {
			random := rand.New(rand.NewPCG(uint64(n), 0))
			var paper, mean, worst, highest, coverage float64
			for range choices {
				r, err := evaluate(among(p.data, random.Perm(len(p.data.Apps))[:n]), evaluation.Options{
					Methods: []predictor.Method{best, predictor.Default}, ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
				})
				if err != nil {
					return err
				}
				other, _ := r.of(best, 1)
				own, _ := r.of(predictor.Default, 1)
				paper, mean, coverage = paper+other.mean/choices, mean+own.mean/choices, coverage+own.coverage/choices
				worst, highest = max(worst, own.mean), max(highest, own.worst)
			}
			fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %.2f | %.1f | %.0f%% |\n", p.name, n, paper, mean, worst, highest, 100*coverage)
		}
	}
	return nil
}

// among returns the data of the applications with these numbers: their pairs, and no groups.
func among(d *evaluation.Dataset, numbers []int) *evaluation.Dataset {
	kept := *d
	kept.Apps, kept.Groups = nil, nil
	names := map[string]bool{}
	for _, i := range slices.Sorted(slices.Values(numbers)) {
		kept.Apps = append(kept.Apps, d.Apps[i])
		names[d.Apps[i].Name] = true
	}
	kept.Pairs = slices.DeleteFunc(slices.Clone(d.Pairs), func(p evaluation.Pair) bool { return !names[p.Target] || !names[p.Corunner] })
	return &kept
}
