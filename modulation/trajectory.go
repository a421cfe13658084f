package modulation

import (
	"errors"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/internal/stats"
)

// Progress is how far a program was at a moment of a run.
type Progress struct {
	// Count is the count of its ticks, Seconds the time since its start.
	Count, Seconds float64
}

// Trajectory makes the ticks of a deterministic program equal: it tells how long
// the program takes alone to a count of ticks.
type Trajectory struct {
	// Counts and Times are its points: the program takes so many seconds alone to a
	// count. Both ascend.
	Counts, Times []float64
	// Variation is the standard deviation of the time of a tick along the run,
	// relative to its mean: near 0 where ticks are equal already.
	Variation float64
	// Disagreement is the same between runs, at the same count.
	Disagreement float64
}

var (
	// ErrTooFewRuns is returned for fewer than three runs: a median of two is no
	// better than one.
	ErrTooFewRuns = errors.New("want three solo runs or more")
	// ErrNotRepeated is returned when the runs did not do the same work.
	ErrNotRepeated = errors.New("the counts of the runs differ")
)

const (
	// trajectoryStep is the time of a step of a trajectory, about: short against a
	// slice.
	trajectoryStep = 2e-3
	// mostSteps bounds the steps of a trajectory.
	mostSteps = 20000
	// sameCount is by how much the counts of runs of the same work may differ.
	sameCount = 0.005
)

// NewTrajectory returns the trajectory of three or more runs alone, each with its
// progress in order. The time of each step is its median over the runs, which
// leaves out spells in which one of them was slow. The errors are ErrTooFewRuns
// and ErrNotRepeated.
func NewTrajectory(runs [][]Progress) (*Trajectory, error) {
	if len(runs) < 3 {
		return nil, ErrTooFewRuns
	}
	var first, last, times []float64
	for _, run := range runs {
		if len(run) < 2 || !(run[len(run)-1].Count > run[0].Count) {
			return nil, ErrNotRepeated
		}
		first, last = append(first, run[0].Count), append(last, run[len(run)-1].Count)
		times = append(times, run[len(run)-1].Seconds-run[0].Seconds)
	}
	from, to := slices.Max(first), slices.Min(last)
	if slices.Max(last) > to*(1+sameCount) || !(to > from) {
		return nil, ErrNotRepeated
	}
	steps := int(min(max(stats.Median(times)/trajectoryStep, 2), mostSteps))
	t := &Trajectory{Counts: make([]float64, steps+1), Times: make([]float64, steps+1)}
	moments := make([][]float64, len(runs))
	for r, run := range runs {
		moments[r] = make([]float64, steps+1)
		for k := range moments[r] {
			moments[r][k] = at(run, from+(to-from)*float64(k)/float64(steps))
		}
	}
	var increments, apart []float64
	for k := range t.Counts {
		t.Counts[k] = from + (to-from)*float64(k)/float64(steps)
		if k == 0 {
			continue
		}
		of := make([]float64, len(runs))
		for r := range runs {
			of[r] = moments[r][k] - moments[r][k-1]
		}
		median := stats.Median(of)
		for _, d := range of {
			apart = append(apart, math.Abs(d-median))
		}
		increments = append(increments, median)
		t.Times[k] = t.Times[k-1] + median
	}
	mean := stat.Mean(increments, nil)
	t.Variation = stat.StdDev(increments, nil) / mean
	t.Disagreement = normalMAD * stats.Median(apart) / mean
	return t, nil
}

// at returns the time at which a run had reached a count.
func at(run []Progress, count float64) float64 {
	i := sort.Search(len(run), func(i int) bool { return run[i].Count >= count })
	switch {
	case i == 0:
		return run[0].Seconds
	case i == len(run):
		return run[len(run)-1].Seconds
	}
	a, b := run[i-1], run[i]
	return a.Seconds + (b.Seconds-a.Seconds)*(count-a.Count)/(b.Count-a.Count)
}

// Seconds returns the time that the program takes alone to a count; beyond the
// last count it goes on at the mean rate.
func (t *Trajectory) Seconds(count float64) float64 {
	n := len(t.Counts) - 1
	perCount := t.Times[n] / (t.Counts[n] - t.Counts[0])
	switch {
	case count <= t.Counts[0]:
		return (count - t.Counts[0]) * perCount
	case count >= t.Counts[n]:
		return t.Times[n] + (count-t.Counts[n])*perCount
	}
	k := int((count - t.Counts[0]) / (t.Counts[n] - t.Counts[0]) * float64(n))
	k = min(max(k, 0), n-1)
	return t.Times[k] + (t.Times[k+1]-t.Times[k])*(count-t.Counts[k])/(t.Counts[k+1]-t.Counts[k])
}

// Length returns the time of the whole run alone.
func (t *Trajectory) Length() float64 { return t.Times[len(t.Times)-1] }

// unsteadyWindow is the time over which Unsteadiness takes rates.
const unsteadyWindow = 20e-3

// Unsteadiness returns the robust standard deviation of the rate of ticks in
// windows of 20 ms of one run, relative to its median; +Inf for a run of fewer
// than ten windows. It bounds how unequal ticks are, as noise adds to it.
func Unsteadiness(run []Progress) float64 {
	var rates []float64
	for i, start := 0, 0; i < len(run); i++ {
		if d := run[i].Seconds - run[start].Seconds; d >= unsteadyWindow {
			rates = append(rates, (run[i].Count-run[start].Count)/d)
			start = i
		}
	}
	const fewest = 10
	median := stats.Median(rates)
	if len(rates) < fewest || !(median > 0) {
		return math.Inf(1)
	}
	apart := make([]float64, len(rates))
	for i, r := range rates {
		apart[i] = math.Abs(r - median)
	}
	return normalMAD * stats.Median(apart) / median
}
