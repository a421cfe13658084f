// Evaluate-simulated writes docs/results/simulated.md: the errors of every
// method on the simulated data sets that the project carries.
//
//	go run ./hack/evaluate-simulated > docs/results/simulated.md
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

//go:generate sh -c "go run . --data ../../predictor/testdata/simulated > simulated.md.new && mv simulated.md.new ../../docs/results/simulated.md"

func main() { study.WritePage("evaluate-simulated", write) }

// platform is one simulated memory system.
type platform struct{ folder, title string }

func platforms() []platform {
	return []platform{
		{"ddr3x4", "DDR3-1600, four channels, co-runners on another socket (ddr3x4)"},
		{"ddr4x2", "DDR4-2400, two channels, everyone on one socket (ddr4x2)"},
	}
}

// profile is what of each application was measured.
type profile struct {
	title      string
	readShares []units.ReadShare
	levels     []float64
}

func profiles() []profile {
	four := []float64{0.25, 0.5, 0.75, 1}
	return []profile{
		{"All 11 read shares × 16 levels", nil, nil},
		{"50%, 75% and 100% reads × 4 levels", []units.ReadShare{0.5, 0.75, 1}, four},
		{"50% and 100% reads × 4 levels", []units.ReadShare{0.5, 1}, four},
	}
}

const introduction = `# Errors on simulated memory systems

Written by ` + "`go run ./hack/evaluate-simulated > docs/results/simulated.md`" + `; ` + "`hack/generate.sh`" + `
regenerates it.

The data are those of ` + "`predictor/testdata/simulated`" + `: 22 applications on each of two simulated
memory systems, alone, beside an interferer of 11 read shares × 16 levels, in all 484 ordered pairs
and in 150 groups of three and four. Pairs and groups are used only to compute errors. Errors are
|predicted − measured| in percentage points of normalized performance. The cost is the number of
points that a method reads of each application ÷ 4: one curve of four levels costs 1. Coverage is
the share of the measured slowdowns within the predicted 90% interval. The simulation repeats to a
standard deviation of 0.56 (ddr3x4) and 0.74 points (ddr4x2), so no mean error can be far below 0.45
and 0.55.

The rows up to ` + "`polynomial-estimated`" + ` are the methods of Zacarias et al. 2020; ` + "`memgen`" + ` is the state
of the art that they compare with.

` + "`default`" + ` is what ` + "`bandmate predict`" + `, the schedulers and the report answer from the same profiles: it
fits a model of the memory to the curves of all 22 applications and takes phases to meet at random.
` + "`default-started-together`" + ` is also told that co-runs started at the same time, as these did. Its structure was chosen with these pairs and groups in view
(docs/decisions/0012); its parameters come from curves alone. The last table of each platform shows
the errors for applications that had no part in the parameters.
`

func write(w io.Writer, data string) error {
	fmt.Fprint(w, introduction)
	for _, p := range platforms() {
		d, err := evaluation.Read(os.DirFS(filepath.Join(data, p.folder)))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n## %s\n", p.title)
		for _, measured := range profiles() {
			if err := writeProfile(w, d, measured); err != nil {
				return err
			}
		}
		if err := writeNoise(w, d); err != nil {
			return err
		}
		if err := writeTargets(w, d); err != nil {
			return err
		}
		if err := writeCrossValidation(w, d); err != nil {
			return err
		}
	}
	return nil
}

// writeProfile writes the tables of pairs and groups for one kind of profile.
func writeProfile(w io.Writer, d *evaluation.Dataset, p profile) error {
	r, err := evaluation.Evaluate(d, evaluation.Options{ReadShares: p.readShares, Levels: p.levels})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n### %s\n\n", p.title)
	fmt.Fprint(w, "| pairs | read shares | levels | mean | SD | max | cost | coverage |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range r.Methods {
		fmt.Fprintf(w, "| %s | %d | %d | %.2f | %.2f | %.1f | %.2f | %.0f%% |\n",
			m.Name, m.ReadShares, m.Points, m.Mean, m.SD, m.Max, m.Cost, 100*m.Coverage)
	}
	fmt.Fprint(w, "\n| groups | co-runners | mean | max | rows | coverage |\n|---|---|---|---|---|---|\n")
	for _, g := range r.Groups {
		fmt.Fprintf(w, "| %s | %d | %.2f | %.1f | %d | %.0f%% |\n", g.Name, g.Corunners, g.Mean, g.Max, g.Rows, 100*g.Coverage)
	}
	return nil
}

// noiseSeeds is over how many noises the errors are averaged.
const noiseSeeds = 3

// writeNoise writes the mean error over pairs when the curves are noisy.
func writeNoise(w io.Writer, d *evaluation.Dataset) error {
	pairs := *d
	pairs.Groups = nil
	noises := []float64{0, 0.01, 0.02}
	means := map[predictor.Method][]float64{}
	for _, noise := range noises {
		sums := map[predictor.Method]float64{}
		for seed := range uint64(noiseSeeds) {
			if noise == 0 && seed > 0 {
				break // no noise is always the same
			}
			r, err := evaluation.Evaluate(&pairs, evaluation.Options{
				Noise: noise, Seed: seed + 1, Each: func(evaluation.Row) error { return nil },
			})
			if err != nil {
				return err
			}
			for _, m := range r.Methods {
				sums[m.Name] += m.Mean
			}
		}
		for m, sum := range sums {
			if noise > 0 {
				sum /= noiseSeeds
			}
			means[m] = append(means[m], sum)
		}
	}
	fmt.Fprintf(w, "\n### Noisy curves: mean error over pairs, all points, average of %d noises\n\n", noiseSeeds)
	fmt.Fprint(w, "| method | no noise | 1% | 2% |\n|---|---|---|---|\n")
	for _, m := range evaluation.Methods() {
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f |\n", m, means[m][0], means[m][1], means[m][2])
	}
	return nil
}

// writeTargets splits the applications in two by turns and scores each half as
// targets: no method was fitted to either, so that the two tell how much the
// choice of applications matters.
func writeTargets(w io.Writer, d *evaluation.Dataset) error {
	half := map[string]int{}
	for i, a := range d.Apps {
		half[a.Name] = i % 2
	}
	methods := []predictor.Method{predictor.Memgen, predictor.LinearEstimated, predictor.Default, evaluation.StartedTogether}
	fmt.Fprint(w, "\n### Between applications: every other application as target\n\n| method | co-runners | one half | the other |\n|---|---|---|---|\n")
	var sums, rows [4][4][2]float64
	_, err := evaluation.Evaluate(d, evaluation.Options{Methods: methods, Each: func(r evaluation.Row) error {
		for i, m := range methods {
			if r.Method == m && r.Corunners < len(sums) {
				sums[r.Corunners][i][half[r.Target]] += max(r.Error(), -r.Error())
				rows[r.Corunners][i][half[r.Target]]++
			}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	for n := 1; n < len(sums); n++ {
		for i, m := range methods {
			fmt.Fprintf(w, "| %s | %d | %.2f | %.2f |\n", m, n, sums[n][i][0]/rows[n][i][0], sums[n][i][1]/rows[n][i][1])
		}
	}
	return nil
}

// writeCrossValidation fits the model of the memory to every other application and
// scores co-locations of the rest only, both ways.
func writeCrossValidation(w io.Writer, d *evaluation.Dataset) error {
	var halves [2][]string
	half := map[string]int{}
	for i, a := range d.Apps {
		halves[i%2] = append(halves[i%2], a.Name)
		half[a.Name] = i % 2
	}
	fmt.Fprint(w, "\n### Cross-validated: the constants of the memory from one half of the applications, errors among the other half\n\n"+
		"| method | co-runners | mean | max | rows | coverage |\n|---|---|---|---|---|---|\n")
	var scores [4]struct {
		sum, worst    float64
		rows, covered int
	}
	for with := range halves {
		_, err := evaluation.Evaluate(d, evaluation.Options{
			Methods: []predictor.Method{predictor.Default}, CalibrateWith: halves[with],
			Each: func(r evaluation.Row) error {
				if r.Corunners >= len(scores) || half[r.Target] == with {
					return nil
				}
				for name := range strings.SplitSeq(r.Corunner, "+") {
					if half[name] == with {
						return nil
					}
				}
				s := &scores[r.Corunners]
				e := max(r.Error(), -r.Error())
				s.sum, s.worst = s.sum+e, max(s.worst, e)
				s.rows++
				if r.Covered() {
					s.covered++
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	for n := 1; n < len(scores); n++ {
		if s := scores[n]; s.rows > 0 {
			fmt.Fprintf(w, "| default | %d | %.2f | %.1f | %d | %.0f%% |\n", n, s.sum/float64(s.rows), s.worst, s.rows, 100*float64(s.covered)/float64(s.rows))
		}
	}
	return nil
}
