package modulation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bandmate.dev/bandmate/internal/stats"
)

// Reading is the ratio of two rates in one block.
type Reading struct {
	// Log is the logarithm of the rate beside the neighbor ÷ the rate alone.
	Log float64
	// Weight is the time that the work of the block takes alone, in seconds:
	// the part of a whole run for which the reading stands.
	Weight float64
	// Stratum numbers the stretch of the run in which it was taken. Readings of
	// one stratum are of the same phase of the program and share what changes
	// slowly.
	Stratum int
	// Alone and Beside are the two rates, in work per second.
	Alone, Beside float64
}

// Estimate is the performance beside a neighbor ÷ alone, over a whole run.
type Estimate struct {
	// Performance is the rate beside the neighbor ÷ alone, above 0.
	Performance float64
	// StandardError is that of Performance; +Inf with fewer than two strata.
	StandardError float64
	// Low and High bound the 90% interval of Performance.
	Low, High float64
	// Spread is the standard deviation of single readings, as a share of
	// Performance: robust, from the median absolute deviation.
	Spread float64
	// Readings is the number of blocks.
	Readings int
	// Phases says that the performance differs between strata beyond noise, so
	// that it is a mean weighted by work, not a robust center.
	Phases bool
}

const (
	// resamples is the number of bootstrap samples of an estimate.
	resamples = 200
	// confidence is that of the intervals.
	confidence = 0.90
	// phaseLevel is the probability below which strata count as different.
	phaseLevel = 0.001
	// fewestPhaseReadings is how many readings a stratum has at least for strata
	// to be compared.
	fewestPhaseReadings = 3
)

// Summarize returns the estimate of readings, one at least. Random draws the
// bootstrap samples.
//
// The center is the trimmed mean of the logarithms. Where strata differ beyond
// noise (Kruskal and Wallis 1952), because the program has phases, it is the
// mean of the strata's slowdowns, each from a trimmed mean, weighted by the time
// that their work takes alone: Σ w ÷ Σ w·s. The interval is from a bootstrap of strata, and
// of the readings within each (two-stage; Davison and Hinkley 1997, 3.8), with
// the quantile of Student's distribution for the few strata there are.
func Summarize(readings []Reading, random *rand.Rand) Estimate {
	strata := stratified(readings)
	phases := differ(strata)
	center := func(strata [][]Reading) float64 {
		if phases {
			return weightedLog(strata)
		}
		return trimmedMean(logsOf(strata))
	}
	y := center(strata)
	e := Estimate{
		Performance: math.Exp(y), Readings: len(readings), Phases: phases,
		StandardError: math.Inf(1), Low: 0, High: math.Inf(1), Spread: spread(strata),
	}
	if len(readings) < 2 {
		return e
	}
	n := len(strata)
	draws := make([]float64, resamples)
	sample := make([][]Reading, n)
	for d := range draws {
		for k := range sample {
			from := strata[k]
			if !phases && n >= fewestStrata {
				from = strata[random.IntN(n)]
			}
			sample[k] = resampled(from, random)
		}
		draws[d] = center(sample)
	}
	se := stat.StdDev(draws, nil)
	degrees := float64(len(readings) - 1)
	if !phases && n >= fewestStrata {
		degrees = float64(n - 1)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile((1 + confidence) / 2)
	e.StandardError = e.Performance * se
	e.Low, e.High = math.Exp(y-t*se), math.Exp(y+t*se)
	return e
}

// fewestStrata is the number of strata from which they are drawn in a bootstrap
// sample. Fewer do not show how much they differ.
const fewestStrata = 4

// stratified divides the readings by stratum, in the order of the strata.
func stratified(readings []Reading) [][]Reading {
	sorted := slices.Clone(readings)
	slices.SortStableFunc(sorted, func(a, b Reading) int { return a.Stratum - b.Stratum })
	var strata [][]Reading
	for i, r := range sorted {
		if i == 0 || r.Stratum != sorted[i-1].Stratum {
			strata = append(strata, nil)
		}
		strata[len(strata)-1] = append(strata[len(strata)-1], r)
	}
	return strata
}

func resampled(from []Reading, random *rand.Rand) []Reading {
	to := make([]Reading, len(from))
	for i := range to {
		to[i] = from[random.IntN(len(from))]
	}
	return to
}

func logsOf(strata [][]Reading) []float64 {
	var logs []float64
	for _, s := range strata {
		for _, r := range s {
			logs = append(logs, r.Log)
		}
	}
	return logs
}

// weightedLog returns the logarithm of T ÷ Σ w·s.
func weightedLog(strata [][]Reading) float64 {
	var alone, beside float64
	for _, s := range strata {
		var logs []float64
		weight := 0.0
		for _, r := range s {
			logs = append(logs, r.Log)
			weight += r.Weight
		}
		alone += weight
		beside += weight * math.Exp(-trimmedMean(logs))
	}
	return math.Log(alone / beside)
}

// trim is the share of the logarithms left out at each end.
const trim = 0.2

// trimmedMean returns the mean of values without the lowest and the highest fifth
// (Tukey and McLaughlin 1963): nearly as precise as the mean where noise is
// normal, and unmoved by interruptions in up to a fifth of the slices.
func trimmedMean(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	cut := int(trim * float64(len(sorted)))
	return stat.Mean(sorted[cut:len(sorted)-cut], nil)
}

// spread returns the robust standard deviation of readings around the centers of
// their strata.
func spread(strata [][]Reading) float64 {
	var apart []float64
	for _, s := range strata {
		logs := logsOf([][]Reading{s})
		center := stats.Median(logs)
		for _, y := range logs {
			apart = append(apart, math.Abs(y-center))
		}
	}
	return normalMAD * stats.Median(apart)
}

// normalMAD is the standard deviation of a normal distribution ÷ its median
// absolute deviation.
const normalMAD = 1.4826

// differ reports whether the logarithms differ between strata beyond noise, by
// the test of Kruskal and Wallis on ranks.
func differ(strata [][]Reading) bool {
	type ranked struct {
		y       float64
		stratum int
	}
	var all []ranked
	tested := 0
	for k, s := range strata {
		if len(s) < fewestPhaseReadings {
			continue
		}
		tested++
		for _, r := range s {
			all = append(all, ranked{r.Log, k})
		}
	}
	if tested < 2 {
		return false
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.y, b.y) })
	sums := make([]float64, len(strata))
	for i, r := range all {
		sums[r.stratum] += float64(i + 1)
	}
	n := float64(len(all))
	h := 0.0
	for k, s := range strata {
		if len(s) >= fewestPhaseReadings {
			h += sums[k] * sums[k] / float64(len(s))
		}
	}
	h = 12/(n*(n+1))*h - 3*(n+1)
	return distuv.ChiSquared{K: float64(tested - 1)}.Survival(h) < phaseLevel
}
