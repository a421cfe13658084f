package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// write writes the data set, the profiles and the tables.
func (e *trial) write() error {
	m, machine, err := e.read()
	if err != nil {
		return err
	}
	var profiles []*v1alpha1.ApplicationProfile
	for _, a := range m.applications {
		profiles = append(profiles, a.Profile)
	}
	err = errors.Join(study.WriteProfiles(filepath.Join(e.output, "profiles"), machine, profiles), writeDataset(e.output, m))
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(filepath.Join(e.output, "modulation.md"), func(w io.Writer) error { writeComparisons(w, m); return nil }),
		writeFile(filepath.Join(e.output, "real.md"), func(w io.Writer) error { return writeTables(w, e.output, m, machine) }),
	)
}

// read reads what was measured.
func (e *trial) read() (*measured, *v1alpha1.MachineProfile, error) {
	m, machine := &measured{}, &v1alpha1.MachineProfile{}
	var order []string
	_, machineErr := e.load(machineFile, machine)
	_, orderErr := e.load(orderFile, &order)
	apps, appsErr := loadAll[onboarded](e.state, onboardedPrefix)
	pairs, pairsErr := loadAll[pair](e.state, pairPrefix)
	comparisons, comparisonsErr := loadAll[comparison](e.state, comparedPrefix)
	if err := errors.Join(machineErr, orderErr, appsErr, pairsErr, comparisonsErr); err != nil {
		return nil, nil, err
	}
	place := func(name string) int { return slices.Index(order, name) }
	slices.SortFunc(apps, func(a, b *onboarded) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	slices.SortFunc(comparisons, func(a, b *comparison) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	m.applications, m.pairs, m.comparisons = apps, pairs, comparisons
	return m, machine, nil
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file)
}

// writeTables writes what was run, the error of every method, what it is made of,
// and the worst predictions.
func writeTables(w io.Writer, output string, m *measured, machine *v1alpha1.MachineProfile) error {
	dataset, err := evaluation.Read(os.DirFS(output))
	if err != nil {
		return err
	}
	evaluated, err := evaluation.Evaluate(context.Background(), dataset, evaluation.Options{})
	if err != nil {
		return err
	}
	spec := machine.Spec
	fmt.Fprintf(w, "%s, %d CPUs, virtual: %v; %s placement.\n", spec.CPUModel, spec.CPUs, spec.VirtualMachine, spec.Measurement.Regime.Name)
	all := m.ordered()
	writePrecision(w, m, all)
	writeErrors(w, all, evaluated)
	writeParts(w, all, evaluated)
	writeApplications(w, m)
	writeWorst(w, evaluated)
	return nil
}

// standardError returns that of a point of a curve; nil where it is not known.
func standardError(p v1alpha1.CurvePoint) *float64 {
	if p.Spread == nil || p.Repeats == 0 {
		return nil
	}
	return new(*p.Spread / math.Sqrt(float64(p.Repeats)))
}

func writeApplications(w io.Writer, m *measured) {
	study.TableHeader(w, "application", "ticks", "steps per second", "solo", "inferred bandwidth", "±", "reads", "worst point", "standard error, median", "control")
	for _, a := range m.applications {
		spec := a.Profile.Spec
		c := spec.Contentiousness
		total := c.ReadBytesPerSecond + c.WriteBytesPerSecond
		worst := 1.0
		var errs []float64
		for _, curve := range spec.Curves {
			for _, point := range curve.Points {
				worst = min(worst, point.NormalizedPerformance)
				if e := standardError(point); e != nil {
					errs = append(errs, 100**e)
				}
			}
		}
		control := "–"
		if c := spec.Measurement.Control; c != nil {
			control = fmt.Sprintf("%.3f ± %.3f", c.NormalizedPerformance, c.StandardError)
		}
		fmt.Fprintf(w, "| %s | %s | %.0f | %.2f s | %s | %s | %.0f%% | %.2f | %.2f | %s |\n", a.Name, a.Ticks, a.Steps, spec.Solo.Seconds,
			units.Bandwidth(total), percent(c.RelativeUncertainty), 100*c.ReadBytesPerSecond/total, worst, stats.Median(errs), control)
	}
	fmt.Fprintln(w)
	for _, a := range m.applications {
		for _, warning := range a.Profile.Spec.Warnings {
			fmt.Fprintf(w, "- %s: %s\n", a.Name, warning)
		}
	}
}

func percent(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f%%", 100**v)
}

// writePrecision says how many pairs there are and how precise.
func writePrecision(w io.Writer, m *measured, all []ordered) {
	var errs []float64
	above := 0
	for _, p := range all {
		errs = append(errs, 100*p.StandardError)
		if p.StandardError > 0.01 {
			above++
		}
	}
	seconds := 0.0
	for _, p := range m.pairs {
		seconds += p.Seconds
	}
	slices.Sort(errs)
	if len(errs) > 0 {
		fmt.Fprintf(w, "%d ordered pairs in %.0f s; standard error: median %.2f, 90th percentile %.2f, highest %.2f points; above 1.0: %d.\n",
			len(errs), seconds, stats.Median(errs), errs[len(errs)*9/10], errs[len(errs)-1], above)
	}
}

func writeErrors(w io.Writer, all []ordered, evaluated *evaluation.Result) {
	study.TableHeader(w, "method", "mean", "SD", "max", "interval holds")
	var slowed, most, noise float64
	for _, p := range all {
		lost := 100 * (1 - p.Performance)
		slowed, most = slowed+math.Abs(lost), max(most, lost)
		// The mean absolute value of a normal variable.
		noise += 100 * p.StandardError * math.Sqrt(2/math.Pi)
	}
	n := float64(len(all))
	fmt.Fprintf(w, "| a perfect method: noise of the measured pairs alone | %.2f | | | |\n", noise/n)
	fmt.Fprintf(w, "| no slowdown | %.2f | | %.1f | |\n", slowed/n, most)
	for _, m := range evaluated.Methods {
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.1f | %.0f%% |\n", m.Name, m.Mean, m.SD, m.Max, 100*m.Coverage)
	}
}

// parts of a mean square error, in points². Common, targets, corunners and single
// add up to all.
type parts struct{ all, common, targets, corunners, single float64 }

// partsOf takes the mean off the errors, then the mean of each target, then that of
// each co-runner.
func partsOf(errs map[[2]string]float64) parts {
	left := maps.Clone(errs)
	square := func() float64 {
		sum := 0.0
		for _, e := range left {
			sum += e * e
		}
		return sum / float64(len(left))
	}
	takeOff := func(group func([2]string) string) float64 {
		before := square()
		sums, counts := map[string]float64{}, map[string]float64{}
		for k, e := range left {
			sums[group(k)] += e
			counts[group(k)]++
		}
		for k := range left {
			left[k] -= sums[group(k)] / counts[group(k)]
		}
		return before - square()
	}
	p := parts{all: square()}
	p.common = takeOff(func([2]string) string { return "" })
	p.targets = takeOff(func(k [2]string) string { return k[0] })
	p.corunners = takeOff(func(k [2]string) string { return k[1] })
	p.single = square()
	return p
}

func writeParts(w io.Writer, all []ordered, evaluated *evaluation.Result) {
	errs := map[[2]string]float64{}
	for _, r := range evaluated.Rows {
		if r.Method == predictor.Default {
			errs[[2]string{r.Target, r.Corunner}] = r.Error()
		}
	}
	p, noise := partsOf(errs), 0.0
	for _, pair := range all {
		noise += 1e4 * pair.StandardError * pair.StandardError / float64(len(all))
	}
	study.TableHeader(w, "part of the mean square error of `default`", "points²", "share")
	for _, row := range []struct {
		name string
		part float64
	}{
		{"all", p.all},
		{"common to all pairs", p.common},
		{"common to a target", p.targets},
		{"common to a co-runner", p.corunners},
		{"of single pairs", p.single},
		{"thereof noise of the measured pairs", noise},
	} {
		fmt.Fprintf(w, "| %s | %.1f | %.0f%% |\n", row.name, row.part, 100*row.part/p.all)
	}
}

const worstRows = 15

func writeWorst(w io.Writer, evaluated *evaluation.Result) {
	rows := slices.DeleteFunc(slices.Clone(evaluated.Rows), func(r evaluation.Row) bool { return r.Method != predictor.Default })
	slices.SortFunc(rows, func(a, b evaluation.Row) int { return cmp.Compare(math.Abs(b.Error()), math.Abs(a.Error())) })
	study.TableHeader(w, "target", "beside", "predicted", "measured", "error, points")
	for _, r := range rows[:min(worstRows, len(rows))] {
		fmt.Fprintf(w, "| %s | %s | %.3f | %.3f | %+.1f |\n", r.Target, r.Corunner, r.Predicted, r.Measured, r.Error())
	}
}

// interval is a mean of repeats with its 90% interval to each side.
type interval struct{ mean, sd, half float64 }

func meanOf(repeats []result) interval {
	var values []float64
	for _, r := range repeats {
		values = append(values, r.Performance)
	}
	mean, sd := stat.MeanStdDev(values, nil)
	return interval{mean, sd, studentQuantile(len(values)-1) * sd / math.Sqrt(float64(len(values)))}
}

func (i interval) overlaps(other interval) bool {
	return math.Abs(i.mean-other.mean) <= i.half+other.half
}

// writeComparisons writes how whole runs and modulation agree, the spread of their
// repeats against the time that they take, and what ticks cost.
func writeComparisons(w io.Writer, m *measured) {
	fmt.Fprint(w, comparisonsIntroduction)
	study.TableHeader(w, "program", "whole runs", "pairs of them", "modulated", "agree", "spread, whole", "time", "spread, modulated", "time", "modulated ÷ whole, same time", "ticks cost")
	agree, cost := 0, 0.0
	var ratios []float64
	for _, c := range m.comparisons {
		if len(c.Whole) < 2 || len(c.Modulated) < 2 {
			continue
		}
		whole, modulated := meanOf(c.Whole), meanOf(c.Modulated)
		answer := "no"
		if whole.overlaps(modulated) {
			answer = "yes"
			agree++
		}
		// The spread of a mean falls with the root of the time.
		ratio := modulated.sd / whole.sd * math.Sqrt(c.ModulatedSeconds/c.WholeSeconds)
		ratios = append(ratios, ratio)
		cost = c.CallSeconds
		fmt.Fprintf(w, "| %s | %.3f ± %.3f | %d of %d | %.3f ± %.3f | %s | %.1f | %.1f s | %.1f | %.1f s | %.2f | %.1f%% |\n", c.Name, whole.mean, whole.half, len(c.Whole), c.Tries,
			modulated.mean, modulated.half, answer, 100*whole.sd, c.WholeSeconds, 100*modulated.sd, c.ModulatedSeconds, ratio, 100*c.Calls*c.CallSeconds)
	}
	if len(ratios) > 0 {
		fmt.Fprintf(w, "\n%d of %d programs agree: the intervals overlap. For the same time the spread by modulation\nis %.2f of that by whole runs (median). A counted call costs %.1f µs here.\n",
			agree, len(ratios), stats.Median(ratios), 1e6*cost)
	}
}

// comparisonsIntroduction heads a section for docs/results/onboarding.md.
const comparisonsIntroduction = `
## Modulation beside whole runs, measured

Each program of [real.md](real.md) beside an unpaced stream of 50% reads, five times by each way in
turns: a pair of whole runs, alone and under pressure, and one modulated measurement within the
program's run. Both are of one placement of the CPUs: a pair of whole runs counts if the CPUs were
in it before, between and after the runs; the table says how many did, of how many. Performances are
means with their 90% intervals; spreads are standard deviations between the five repeats, in points;
times are those of one repeat, with the runs that did not count. Slices are as long as onboarding
found necessary. The last column is the time that counting takes from the program: counted calls per
second × the cost of a call. Counts of bytes and of a page cost nothing. This machine counts no
instructions, so what these cost was not measured.
`

// studentQuantile is that of 0.95.
func studentQuantile(degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(0.95)
}
