// Replay-onboarding writes docs/results/onboarding.md: what onboarding costs and
// how right its profiles are, by running it on the simulated data sets that the
// project carries, and what profiles are worth on another machine.
//
//	go run ./hack/replay-onboarding > docs/results/onboarding.md
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
)

//go:generate sh -c "go run . --data ../../predictor/testdata/simulated > onboarding.md.new && mv onboarding.md.new ../../docs/results/onboarding.md"

func main() { study.WritePage("replay-onboarding", write) }

const introduction = `# Onboarding, replayed on simulated memory systems

Written by ` + "`go run ./hack/replay-onboarding > docs/results/onboarding.md`" + `; ` + "`hack/generate.sh`" + `
regenerates it.

The data are those of ` + "`predictor/testdata/simulated`" + ` (see [simulated.md](simulated.md)). The curves
stand in for the experiments; pairs and groups are used only to compute errors. Errors are those of
` + "`default`" + `, in percentage points of normalized performance: over all pairs, and the mean over groups
with two and three co-runners. The cost is the time of all runs beside the interferer ÷ the solo
time, mean / highest over the applications; an insensitive application keeps 95% of its performance
beside the strongest pressure. Coverage is the share of the measured slowdowns within the 90%
interval.

## Adaptive onboarding

*2 × 4* measures four levels at 50% and 100% reads in whole runs. *Progress watched* measures the
same points in two runs in which the levels take turns. It stands for a program that reports its
progress; ` + "`bandmate onboard --progress`" + ` works like this, and half of each run is the control, which
the cost omits. *Adaptive* chooses each run by its expected information, presses for only part of
the time where a whole run would cost too much, stops when little remains to be learned, and infers
the points that it did not measure. *Traffic not counted* is the same without counters, where the
traffic would be inferred from the two unpaced runs (the traffic itself is taken from the data, as
in all rows).

With noise, the time of every run is disturbed by the given standard deviation; for a part of a run
it grows in inverse proportion to the square root of its length. With noise, all onboardings are
drawn 12 times: *mean* is over all draws, and *worst draw* is the highest mean of one draw; *max* is
the largest error of a draw, for the median draw and for the worst one.
`

const transferIntroduction = `
## To another machine

Profiles with three read shares × four levels, measured on one simulated machine, are transferred to
the other by [predictor/transfer](../../predictor/transfer) and compared with the pairs there,
beside profiles measured there. The three pure streams stand for the streams that calibrate a
machine and count as co-runners only. Nothing was fitted. On ddr3x4 co-runners use the memory of
another socket; the transferred profiles do not say how much slower that makes a co-runner, which
the measured ones do.

| from | to | profiles | mean | max | coverage |
|---|---|---|---|---|---|
`

func write(w io.Writer, data string) error {
	fmt.Fprint(w, introduction)
	sets := map[string]*evaluation.Dataset{}
	for _, name := range []string{"ddr3x4", "ddr4x2"} {
		d, err := evaluation.Read(os.DirFS(filepath.Join(data, name)))
		if err != nil {
			return err
		}
		sets[name] = d
		if err := writeAdaptive(w, name, d); err != nil {
			return err
		}
	}
	fmt.Fprint(w, transferIntroduction)
	for _, to := range []string{"ddr4x2", "ddr3x4"} {
		from := map[string]string{"ddr4x2": "ddr3x4", "ddr3x4": "ddr4x2"}[to]
		if err := writeTransferred(w, from, to, sets); err != nil {
			return err
		}
	}
	return nil
}

// noises are the standard deviations of the time of a run, and how many draws of
// each there are.
var noises = []struct {
	spread float64
	draws  uint64
}{{0, 1}, {0.01, 12}, {0.02, 12}}

func writeAdaptive(w io.Writer, name string, d *evaluation.Dataset) error {
	fmt.Fprintf(w, "\n### %s\n\n", name)
	fmt.Fprint(w, "| noise | onboarding | cost, insensitive | cost, sensitive | runs | mean | worst draw | max | worst draw | coverage | two | three |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, noise := range noises {
		for _, way := range ways() {
			var mean score
			var means, mosts []float64
			for seed := range noise.draws {
				s, err := replay(d, way, noise.spread, seed+1)
				if err != nil {
					return err
				}
				mean.add(s, 1/float64(noise.draws))
				means, mosts = append(means, s.mean), append(mosts, s.most)
			}
			slices.Sort(mosts)
			runs := float64(mean.insensitive.runs+mean.sensitive.runs) / float64(mean.insensitive.applications+mean.sensitive.applications)
			fmt.Fprintf(w, "| %.0f%% | %s | %v | %v | %.1f | %.2f | %.2f | %.1f | %.1f | %.0f%% | %.2f | %.2f |\n",
				100*noise.spread, way.name, mean.insensitive, mean.sensitive, runs, mean.mean, slices.Max(means), mosts[len(mosts)/2], mean.most, 100*mean.coverage, mean.groups[0], mean.groups[1])
		}
	}
	return nil
}

// add takes in a share of another score; the costs are pooled.
func (s *score) add(other score, share float64) {
	s.mean += share * other.mean
	s.most = max(s.most, other.most)
	s.coverage += share * other.coverage
	for i := range s.groups {
		s.groups[i] += share * other.groups[i]
	}
	s.insensitive.pool(other.insensitive)
	s.sensitive.pool(other.sensitive)
}

func (c *costs) pool(other costs) {
	c.applications += other.applications
	c.runs += other.runs
	c.sum += other.sum
	c.most = max(c.most, other.most)
}

func writeTransferred(w io.Writer, from, to string, sets map[string]*evaluation.Dataset) error {
	row := func(profiles string, e pairErrors, err error) error {
		if err == nil {
			fmt.Fprintf(w, "| %s | %s | %s | %.2f | %.1f | %.0f%% |\n", from, to, profiles, e.mean, e.most, 100*e.coverage)
		}
		return err
	}
	for _, method := range []string{v1alpha1.TransferredByCapacity, v1alpha1.TransferredBySustained} {
		e, err := transferAll(sets[from], sets[to], method)
		if err := row("transferred by "+method, e, err); err != nil {
			return err
		}
	}
	for _, method := range []predictor.Method{predictor.Default, predictor.Memgen} {
		e, err := without(sets[to], method)
		if err := row("measured there, "+string(method), e, err); err != nil {
			return err
		}
	}
	e, err := without(sets[to], "")
	return row("none: no slowdown", e, err)
}
