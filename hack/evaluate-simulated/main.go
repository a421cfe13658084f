// Evaluate-simulated writes docs/results/simulated.md: the errors of every
// method on the simulated data sets that the project carries.
//
//	go run ./hack/evaluate-simulated > docs/results/simulated.md
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

//go:generate sh -c "go run . --data ../../predictor/testdata/simulated > simulated.md.new && mv simulated.md.new ../../docs/results/simulated.md"

func main() { study.WritePage("evaluate-simulated", write) }

// platform is one simulated memory system, with what happened there.
type platform struct {
	name, title string
	data        *evaluation.Dataset
}

func platforms(data string) ([]platform, error) {
	all := []platform{
		{name: "ddr3x4", title: "DDR3-1600, four channels; co-runners on another socket, each with a link of its own"},
		{name: "ddr4x2", title: "DDR4-2400, two channels; everyone on one socket"},
		{name: "ddr4x2cxl", title: "DDR4-2400, two channels; co-runners behind a longer link of their own"},
		{name: "ddr4x4link", title: "DDR4-2400, four channels; all co-runners share one link"},
		{name: "ddr5x4", title: "DDR5-4800, four sub-channels; everyone on one socket"},
	}
	for i := range all {
		d, err := evaluation.Read(os.DirFS(filepath.Join(data, all[i].name)))
		if err != nil {
			return nil, err
		}
		all[i].data = d
	}
	return all, nil
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

// mostCorunners is the largest number of co-runners that the data have.
const mostCorunners = 3

const introduction = `# Errors on simulated memory systems

Written by ` + "`go run ./hack/evaluate-simulated > docs/results/simulated.md`" + `; ` + "`hack/generate.sh`" + `
regenerates it.

The data are those of ` + "`predictor/testdata/simulated`" + `: 22 to 32 applications on each of five
simulated memory systems, alone, beside an interferer of 11 read shares × 16 levels, in pairs, and
in groups of three and four. A sixth system, with a shared cache, has its tables at the end. Pairs
and groups are used only to compute errors. Errors are |predicted − measured| in percentage points
of normalized performance. The cost is the number of points that a method reads of each application
÷ 4: one curve of four levels costs 1. Coverage is the share of the measured slowdowns within the
predicted 90% interval. The simulations repeat to a standard deviation of 0.56 (ddr3x4), 0.74
(ddr4x2), 0.87 (ddr5x4) and 1.08 points (ddr4x4link), so no mean error can be far below 0.45 to 0.8.

The rows up to ` + "`polynomial-estimated`" + ` are the methods of Zacarias et al. 2020; ` + "`memgen`" + ` is the state
of the art that they compare with. ` + "`default`" + ` is what ` + "`bandmate predict`" + `, the schedulers and the
report answer from the same profiles: it fits a model of the memory to the curves of all
applications of a platform and takes phases to meet at random. ` + "`default-started-together`" + ` is also
told that co-runs started at the same time, as these did.

## One platform left out

A user's machine is one that nobody chose the method on. Each row leaves one platform out. The
method of the paper is the one with the least mean error over pairs and groups of the other
platforms. The scale is the factor by which the intervals of ` + "`default`" + ` have to be wider to hold 90%
of the co-locations of each kind on the other platforms; the last column is what they then hold on
the one left out. ` + "`default`" + ` itself was developed with these platforms in view (docs/decisions/0035),
its parameters come from the curves of the platform alone.
`

func write(w io.Writer, data string) error {
	all, err := platforms(data)
	if err != nil {
		return err
	}
	results := make([]result, len(all))
	for i, p := range all {
		if results[i], err = evaluate(p.data, evaluation.Options{}); err != nil {
			return err
		}
	}
	fmt.Fprint(w, introduction)
	writeLeftOut(w, all, results)
	if err := writeUndeclared(w, all, results); err != nil {
		return err
	}
	if err := writeFew(w, all, results); err != nil {
		return err
	}
	for i, p := range all {
		fmt.Fprintf(w, "\n## %s (%s)\n", p.title, p.name)
		for j, measured := range profiles() {
			r := results[i]
			if j > 0 {
				if r, err = evaluate(p.data, evaluation.Options{ReadShares: measured.readShares, Levels: measured.levels}); err != nil {
					return err
				}
			}
			writeProfile(w, measured, r)
		}
		if err := writeNoise(w, p.data, results[i]); err != nil {
			return err
		}
		if err := writeCrossValidation(w, p.data); err != nil {
			return err
		}
	}
	return writeSharedCache(w, data)
}

const sharedCache = `
## One cache of 1 MiB before DDR4-2400, two channels, shared by everyone (llc-ddr4x2-all)

32 applications, of which the data have the curves of three read shares × four levels. Beside them,
each application was measured beside an interferer that touches a working set in random order. Only
` + "`default`" + ` uses these points, which count in its cost. The platform is not in the tables above,
because there is no second one with a shared cache to leave it out for.
`

// writeSharedCache writes the errors on the platform with a shared cache.
func writeSharedCache(w io.Writer, data string) error {
	d, err := evaluation.Read(os.DirFS(filepath.Join(data, "llc-ddr4x2-all")))
	if err != nil {
		return err
	}
	fmt.Fprint(w, sharedCache)
	size := d.Platform.SharedCache.Bytes
	three, two := []units.ReadShare{0.5, 0.75, 1}, []units.ReadShare{0.5, 1}
	onboarded := func(p v1alpha1.CachePoint) bool {
		within := p.FootprintBytes <= size && (p.Level == 0.25 || p.Level == 0.5 || p.Level == 1)
		return p.ReadShare == 1 && (within || p.FootprintBytes == 8*size && p.Level == 1)
	}
	for _, measured := range []struct {
		profile
		keep     func(v1alpha1.CachePoint) bool
		counters bool
	}{
		{profile{"50%, 75% and 100% reads × 4 levels, and 40 points in the cache", three, nil}, func(v1alpha1.CachePoint) bool { return true }, true},
		{profile{"50% and 100% reads × 4 levels, and the ten points in the cache that `onboard` measures", two, nil}, onboarded, true},
		{profile{"The same where no counter tells what application and interferer transfer together", two, nil}, onboarded, false},
		{profile{"50%, 75% and 100% reads × 4 levels, and no points in the cache", three, nil}, func(v1alpha1.CachePoint) bool { return false }, true},
	} {
		kept := *d
		kept.Apps = slices.Clone(d.Apps)
		for i := range kept.Apps {
			a := &kept.Apps[i]
			a.Cache = slices.DeleteFunc(slices.Clone(a.Cache), func(p v1alpha1.CachePoint) bool { return !measured.keep(p) })
			if !measured.counters {
				withoutTotals(a)
			}
		}
		r, err := evaluate(&kept, evaluation.Options{ReadShares: measured.readShares})
		if err != nil {
			return err
		}
		writeProfile(w, measured.profile, r)
	}
	return nil
}

// withoutTotals takes from an application what only counters of the memory tell.
func withoutTotals(a *evaluation.App) {
	for i := range a.Cache {
		a.Cache[i].TotalBytesPerSecond = nil
	}
	a.Curves = slices.Clone(a.Curves)
	for i := range a.Curves {
		points := slices.Clone(a.Curves[i].Points)
		for j := range points {
			points[j].TotalBytesPerSecond = nil
		}
		a.Curves[i].Points = points
	}
}

// result is the errors of every method, with the rows.
type result struct{ *evaluation.Result }

func evaluate(d *evaluation.Dataset, o evaluation.Options) (result, error) {
	r, err := evaluation.Evaluate(context.Background(), d, o)
	return result{r}, err
}

// score is the error of a method beside some number of co-runners.
type score struct{ mean, worst, coverage float64 }

// of returns the score of a method; false where no co-location had so many co-runners.
func (r result) of(m predictor.Method, corunners int) (score, bool) {
	for _, row := range r.Methods {
		if corunners == 1 && row.Name == m {
			return score{row.Mean, row.Max, row.Coverage}, true
		}
	}
	for _, row := range r.Groups {
		if row.Corunners == corunners && row.Name == m {
			return score{row.Mean, row.Max, row.Coverage}, true
		}
	}
	return score{}, false
}

// ofPaper reports whether a method is one of the paper's.
func ofPaper(m predictor.Method) bool {
	return m != predictor.Default && m != evaluation.StartedTogether
}

// writeLeftOut writes what the other platforms choose for each platform.
func writeLeftOut(w io.Writer, all []platform, results []result) {
	study.TableHeader(w, "platform", "co-runners", "of the paper", "its error", "default", "less by", "coverage", "scale of the others", "coverage with it")
	for i, p := range all {
		for n := 1; n <= mostCorunners; n++ {
			var others []result
			for j, r := range results {
				if j != i {
					others = append(others, r)
				}
			}
			best := leastError(others, n)
			paper, _ := results[i].of(best, n)
			own, found := results[i].of(predictor.Default, n)
			if !found {
				continue
			}
			scale := scaleFor(others, n)
			fmt.Fprintf(w, "| %s | %d | %s | %.2f / %.1f | %.2f / %.1f | %.0f%% | %.0f%% | %.2f | %.0f%% |\n", p.name, n,
				best, paper.mean, paper.worst, own.mean, own.worst, 100*(1-own.mean/paper.mean), 100*own.coverage,
				scale, 100*heldWith([]result{results[i]}, n, scale))
		}
	}
}

// leastError returns the method of the paper with the least mean of mean errors.
func leastError(results []result, corunners int) (best predictor.Method) {
	least := math.Inf(1)
	for _, m := range evaluation.Methods() {
		if !ofPaper(m) {
			continue
		}
		var sum float64
		for _, r := range results {
			s, _ := r.of(m, corunners)
			sum += s.mean
		}
		if sum < least {
			best, least = m, sum
		}
	}
	return best
}

// heldWith returns the share of the co-locations whose measured performance lies within
// the predicted one ± scale × half of the interval of the default method.
func heldWith(results []result, corunners int, scale float64) float64 {
	held, rows := 0, 0
	for _, r := range results {
		for _, row := range r.Rows {
			if row.Method != predictor.Default || row.Corunners != corunners {
				continue
			}
			half := float64(row.Predicted) - 1/float64(row.Interval.High)
			rows++
			// A measured gain is noise, as in Row.Covered.
			if math.Abs(float64(row.Predicted)-math.Min(float64(row.Measured), 1)) <= scale*half {
				held++
			}
		}
	}
	return float64(held) / float64(rows)
}

// scaleFor returns the least scale, in steps of 0.01, with which 90% of the co-locations
// are held on average over results.
func scaleFor(results []result, corunners int) float64 {
	for scale := 0.01; ; scale += 0.01 {
		var sum float64
		for _, r := range results {
			sum += heldWith([]result{r}, corunners, scale)
		}
		if sum >= 0.9*float64(len(results)) || scale > 10 {
			return scale
		}
	}
}

// writeUndeclared writes the errors where the way of co-runners to the memory is not
// declared.
func writeUndeclared(w io.Writer, all []platform, results []result) error {
	fmt.Fprint(w, "\nWhat `default` loses where neither a topology nor a person says how co-runners reach the memory:\n")
	study.TableHeader(w, "platform", "link", "pairs", "two co-runners", "three")
	for i, p := range all {
		undeclared := *p.data
		undeclared.Platform.Link = memory.LinkUnknown
		r, err := evaluate(&undeclared, evaluation.Options{Methods: []predictor.Method{predictor.Default}})
		if err != nil {
			return err
		}
		for _, kind := range []struct {
			link   string
			result result
		}{{string(p.data.Platform.Link), results[i]}, {"not declared", r}} {
			fmt.Fprintf(w, "| %s | %s |", p.name, kind.link)
			for n := 1; n <= mostCorunners; n++ {
				s, _ := kind.result.of(predictor.Default, n)
				fmt.Fprintf(w, " %.2f / %.1f, %.0f%% |", s.mean, s.worst, 100*s.coverage)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// writeProfile writes the errors of every method for one kind of profile.
func writeProfile(w io.Writer, p profile, r result) {
	fmt.Fprintf(w, "\n### %s\n", p.title)
	study.TableHeader(w, "method", "cost", "pairs: mean", "SD", "max", "coverage", "two: mean", "max", "coverage", "three: mean", "max", "coverage")
	for _, m := range r.Methods {
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f | %.1f | %.0f%% |", m.Name, m.Cost, m.Mean, m.SD, m.Max, 100*m.Coverage)
		for n := 2; n <= mostCorunners; n++ {
			s, _ := r.of(m.Name, n)
			fmt.Fprintf(w, " %.2f | %.1f | %.0f%% |", s.mean, s.worst, 100*s.coverage)
		}
		fmt.Fprintln(w)
	}
}

// The noise that is added to curves, and over how many draws of it errors are averaged.
const (
	addedNoise = 0.02
	noiseSeeds = 3
)

// writeNoise writes the mean error over pairs when the curves are noisy.
func writeNoise(w io.Writer, d *evaluation.Dataset, exact result) error {
	pairs := *d
	pairs.Groups = nil
	sums := map[predictor.Method]float64{}
	for seed := range uint64(noiseSeeds) {
		r, err := evaluation.Evaluate(context.Background(), &pairs, evaluation.Options{
			Noise: addedNoise, Seed: seed + 1, Each: func(evaluation.Row) error { return nil },
		})
		if err != nil {
			return err
		}
		for _, m := range r.Methods {
			sums[m.Name] += m.Mean
		}
	}
	fmt.Fprintf(w, "\n### Noisy curves: mean error over pairs, all points, average of %d noises\n", noiseSeeds)
	study.TableHeader(w, "method", "no noise", fmt.Sprintf("%.0f%%", 100*addedNoise))
	for _, m := range exact.Methods {
		fmt.Fprintf(w, "| %s | %.2f | %.2f |\n", m.Name, m.Mean, sums[m.Name]/noiseSeeds)
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
		_, err := evaluation.Evaluate(context.Background(), d, evaluation.Options{
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
