package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// writeTables writes errors.md: what was run, the error of every method, the
// noise floor, and the worst predictions.
func writeTables(output string, v *onboard.Verified) (err error) {
	dataset, err := evaluation.Read(os.DirFS(output))
	if err != nil {
		return err
	}
	result, err := evaluation.Evaluate(dataset, evaluation.Options{})
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(output, "errors.md"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := io.MultiWriter(file, os.Stdout)
	writeApplications(w, v)
	writeErrors(w, v, result)
	if err := writeCoverage(w, v); err != nil {
		return err
	}
	writeWorst(w, result)
	return nil
}

func writeApplications(w io.Writer, v *onboard.Verified) {
	spec := v.Machine.Spec
	fmt.Fprintf(w, "%s, %d CPUs, virtual: %v; %s placement, %v round trip.\n", spec.CPUModel, spec.CPUs, spec.VirtualMachine, v.Outcome.Class, v.Outcome.RoundTrip)
	fmt.Fprintf(w, "Samples per placement: %v; dropped in all: %d.\n", v.Outcome.Tally, v.Outcome.Dropped)
	study.TableHeader(w, "application", "solo", "SD", "inferred bandwidth", "±", "reads", "worst under the interferer")
	for _, p := range v.Profiles {
		c := p.Spec.Contentiousness
		total := c.ReadBytesPerSecond + c.WriteBytesPerSecond
		worst := 1.0
		for _, curve := range p.Spec.Curves {
			for _, point := range curve.Points {
				worst = min(worst, point.NormalizedPerformance)
			}
		}
		fmt.Fprintf(w, "| %s | %.3f s | %s | %s | %s | %.0f%% | %.2f |\n", p.Name, p.Spec.Solo.Seconds, percent(p.Spec.Solo.RelativeSpread),
			units.Bandwidth(total), percent(c.RelativeUncertainty), 100*c.ReadBytesPerSecond/total, worst)
	}
}

func percent(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f%%", 100**v)
}

func writeErrors(w io.Writer, v *onboard.Verified, result *evaluation.Result) {
	study.TableHeader(w, "method", "mean", "SD", "max", "pairs")
	for _, m := range result.Methods {
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.1f | %d |\n", m.Name, m.Mean, m.SD, m.Max, m.Rows)
	}
	var slowed, most float64
	var spreads []float64
	for _, p := range v.Pairs {
		lost := 100 * (1 - float64(p.NormalizedPerformance))
		slowed, most = slowed+math.Abs(lost), max(most, lost)
		if p.Spread != nil {
			spreads = append(spreads, 100**p.Spread)
		}
	}
	fmt.Fprintf(w, "| no slowdown | %.2f | | %.1f | %d |\n", slowed/float64(len(v.Pairs)), most, len(v.Pairs))
	slices.Sort(spreads)
	if len(spreads) > 0 {
		fmt.Fprintf(w, "\nNoise floor, standard deviation between repeats of a pair: median %.2f, 90th percentile %.2f points.\n",
			spreads[len(spreads)/2], spreads[len(spreads)*9/10])
	}
}

// writeCoverage counts how many measured slowdowns lie in the interval of
// default, predicted from the whole profiles: the files of the data set do not
// hold the uncertainty of the contentiousness.
func writeCoverage(w io.Writer, v *onboard.Verified) error {
	applications := map[string]*predictor.Application{}
	for _, p := range v.Profiles {
		a, err := predictor.Compile(p)
		if err != nil {
			return fmt.Errorf("profile of %s: %w", p.Name, err)
		}
		applications[p.Name] = a
	}
	covered := 0
	for _, pair := range v.Pairs {
		p, err := predictor.Predict(applications[pair.Target], []*predictor.Application{applications[pair.Corunner]}, predictor.Options{})
		if err != nil {
			return fmt.Errorf("%s beside %s: %w", pair.Target, pair.Corunner, err)
		}
		if s := pair.NormalizedPerformance.Slowdown(); p.Interval.Low <= s && s <= p.Interval.High {
			covered++
		}
	}
	fmt.Fprintf(w, "The 90%% interval of default held %d of %d pairs (%.0f%%).\n", covered, len(v.Pairs), 100*float64(covered)/float64(len(v.Pairs)))
	return nil
}

const worstRows = 15

func writeWorst(w io.Writer, result *evaluation.Result) {
	rows := slices.DeleteFunc(slices.Clone(result.Rows), func(r evaluation.Row) bool { return r.Method != predictor.Default })
	slices.SortFunc(rows, func(a, b evaluation.Row) int { return cmp.Compare(math.Abs(b.Error()), math.Abs(a.Error())) })
	study.TableHeader(w, "target", "beside", "predicted", "measured", "error, points")
	for _, r := range rows[:min(worstRows, len(rows))] {
		fmt.Fprintf(w, "| %s | %s | %.3f | %.3f | %+.1f |\n", r.Target, r.Corunner, r.Predicted, r.Measured, r.Error())
	}
}
