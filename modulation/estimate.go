package modulation

import (
	"cmp"
	"maps"
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
	// Lost is what to add to Log where the program is steady: slices that were
	// interrupted then do not count. In a program with phases slices differ by
	// themselves.
	Lost float64
	// Run numbers the run of the party in which the block was taken, and Position
	// is the party's count in the middle of the block: how far the run was.
	// The readings of all runs around one position are of one phase of a program
	// that does the same in every run.
	Run      int
	Position float64
	// Alone and Beside are the two rates, in work per second.
	Alone, Beside float64
	// Early is the same from an early moment of the slices on; nil where it is not known.
	Early *Ratio
}

// Ratio is that of two rates: Log, Lost, Alone and Beside of a [Reading].
type Ratio struct{ Log, Lost, Alone, Beside float64 }

// Estimate is the performance beside a neighbor ÷ alone, over a whole run.
type Estimate struct {
	// Performance is the rate beside the neighbor ÷ alone, above 0.
	Performance float64
	// StandardError is that of Performance; +Inf with a single reading.
	StandardError float64
	// Low and High bound the 90% interval of Performance.
	Low, High float64
	// Spread is the standard deviation of single readings of one phase, as a share
	// of Performance: robust, from the median absolute difference of neighbors; 0
	// with a single reading.
	Spread float64
	// Readings is the number of blocks.
	Readings int
	// Phases says that the performance changed along the run beyond noise, so
	// that Performance is a mean weighted by work, not a robust center.
	Phases bool
}

const (
	// resamples is the number of bootstrap samples of an estimate.
	resamples = 200
	// confidence is that of the intervals.
	confidence = 0.90
	// phaseLevel is the probability below which strata count as different.
	phaseLevel = 0.001
	// unevenLevel is the significance level of the test whether slower slices are spread
	// evenly over both states, as interruptions are.
	unevenLevel = 0.05
	// stratumReadings is how many readings a stratum has at least, and mostStrata
	// how many strata there are at most.
	stratumReadings = 5
	mostStrata      = 40
	// fewestStrata is the number of strata from which they are drawn in a
	// bootstrap sample. Fewer do not show how much they differ.
	fewestStrata = 8
)

// Summarize returns the estimate of readings, one at least, in the order in which
// they were taken. Random draws the bootstrap samples.
//
// Without phases the center is the trimmed mean of the logarithms, of slices that were
// not interrupted. Phases show when strata, which are readings of neighboring
// positions, differ beyond noise (Kruskal and Wallis 1952). Then the performance is
// that of a whole run: the time of all strata alone ÷ beside, Σ t ÷ Σ t·s. The slowdown
// s of a stratum is from a trimmed mean, and its time alone t from the width of the
// stratum, so that a part of the run that was measured twice counts once.
//
// The standard error is from a bootstrap. Its samples are drawn from strata of
// readings that follow each other, because noise that lasts makes these alike. Once
// phases are known from more than one run, the strata are what there is: the
// readings within each are drawn, and apart from these the runs from which the
// times t are. Until then the rest of the run may be different, and strata are
// drawn. One fewer is drawn than there is, which makes the variance of few right
// (McCarthy and Snowden 1985). The interval takes the quantile of Student's
// distribution, with the degrees of freedom of Welch (1947).
func Summarize(readings []Reading, random *rand.Rand) Estimate {
	strata := along(readings)
	e := Estimate{Readings: len(readings), Phases: differ(strata), Spread: spread(strata)}
	center := weighted
	runs := runsOf(readings)
	if e.Phases {
		refine(strata)
		weigh(strata)
		timed(strata, runs)
	} else {
		readings = undisturbed(readings)
		strata = divide(readings)
		center = pooled
	}
	y := center(strata)
	e.Performance = math.Exp(y)
	if len(readings) < 2 {
		e.StandardError, e.High = math.Inf(1), math.Inf(1)
		return e
	}
	var parts errorParts
	switch {
	case e.Phases && repeated(strata):
		parts.add(bootstrap(func() float64 { return center(drawReadings(strata, random)) }), len(readings)-len(strata))
		parts.add(bootstrap(func() float64 { return center(drawRuns(strata, runs, random)) }), len(runs)-1)
	case len(strata) >= fewestStrata:
		parts.add(bootstrap(func() float64 { return center(drawStrata(strata, random)) }), len(strata)-1)
	case e.Phases:
		parts.add(bootstrap(func() float64 { return center(drawReadings(strata, random)) }), len(readings)-len(strata))
	default:
		all := []stratum{newStratum(readings)}
		parts.add(bootstrap(func() float64 { return center(drawReadings(all, random)) }), len(readings)-1)
	}
	half := parts.half()
	e.StandardError = e.Performance * parts.standardError()
	e.Low, e.High = math.Exp(y-half), math.Exp(y+half)
	return e
}

// undisturbed returns the readings of a steady program without what interruptions took.
//
// Interruptions are rare and strike both states alike. If slices differ in most blocks, or
// more often in one state than in the other, the program itself varies: it has phases
// shorter than a block, or unequal ticks. Then nothing is left out.
func undisturbed(readings []Reading) []Reading {
	on, off := 0, 0
	for _, r := range readings {
		switch {
		case r.Lost > 0:
			on++
		case r.Lost < 0:
			off++
		}
	}
	even := distuv.Binomial{N: float64(on + off), P: 0.5}
	if 2*(on+off) > len(readings) || on+off > 0 && 2*even.CDF(float64(min(on, off))) < unevenLevel {
		return readings
	}
	without := slices.Clone(readings)
	for i := range without {
		without[i].Log += without[i].Lost
	}
	return without
}

// bootstrap returns the standard deviation of samples' centers.
func bootstrap(center func() float64) float64 {
	draws := make([]float64, resamples)
	for d := range draws {
		draws[d] = center()
	}
	return stat.StdDev(draws, nil)
}

// errorParts adds up variances of different origin.
type errorParts struct {
	variance float64
	// shares is the sum of the squared variances ÷ their degrees of freedom.
	shares float64
}

func (p *errorParts) add(se float64, degrees int) {
	p.variance += se * se
	p.shares += se * se * se * se / float64(degrees)
}

func (p *errorParts) standardError() float64 { return math.Sqrt(p.variance) }

// half returns half the width of the interval.
func (p *errorParts) half() float64 {
	if p.variance == 0 {
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.variance * p.variance / p.shares}
	return t.Quantile((1+confidence)/2) * p.standardError()
}

// repeated reports whether the strata, or nearly all, are each from more than one
// run.
func repeated(strata []stratum) bool {
	const share = 0.75
	n := 0
	for _, s := range strata {
		if len(s.paces) > 1 {
			n++
		}
	}
	return float64(n) >= share*float64(len(strata))
}

// runsOf returns the numbers of the runs in which readings were taken.
func runsOf(readings []Reading) []int {
	var runs []int
	for _, r := range readings {
		if !slices.Contains(runs, r.Run) {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

// stratum is readings that have something in common.
type stratum struct {
	readings []Reading
	// logs are those of the readings, in ascending order, and log is their center.
	logs []float64
	log  float64
	// width is the work from the first reading to the last, gap that from there to
	// the next stratum, and paces the times per work alone, by run.
	width, gap float64
	paces      map[int][]float64
	// alone is how long the part of the run takes alone for which the stratum
	// stands, in seconds.
	alone float64
}

func newStratum(readings []Reading) stratum {
	s := stratum{readings: readings, logs: make([]float64, len(readings))}
	for i, r := range readings {
		s.logs[i] = r.Log
	}
	slices.Sort(s.logs)
	s.log = trimmedMean(s.logs)
	return s
}

// divide returns strata of readings that follow each other.
func divide(readings []Reading) []stratum {
	n := len(readings)
	count := min(max(n/stratumReadings, 1), mostStrata)
	strata := make([]stratum, count)
	for k := range strata {
		strata[k] = newStratum(readings[k*n/count : (k+1)*n/count])
	}
	return strata
}

// along returns strata of neighboring positions.
func along(readings []Reading) []stratum {
	sorted := slices.Clone(readings)
	slices.SortStableFunc(sorted, func(a, b Reading) int { return cmp.Compare(a.Position, b.Position) })
	return divide(sorted)
}

// refine moves the bounds between strata to where the readings change most, so
// that few strata are of two phases.
func refine(strata []stratum) {
	const fewest = 3
	for k := range len(strata) - 1 {
		both := slices.Concat(strata[k].readings, strata[k+1].readings)
		least := math.Inf(1)
		for cut := fewest; cut <= len(both)-fewest; cut++ {
			before, after := newStratum(both[:cut]), newStratum(both[cut:])
			if d := before.deviation() + after.deviation(); d < least {
				strata[k], strata[k+1], least = before, after, d
			}
		}
	}
}

// deviation returns the sum of the distances of the logarithms from their median.
func (s *stratum) deviation() float64 {
	center, sum := s.logs[len(s.logs)/2], 0.0
	for _, y := range s.logs {
		sum += math.Abs(y - center)
	}
	return sum
}

// weigh finds the widths of strata of neighboring positions, the gaps between
// them, and the paces in them.
func weigh(strata []stratum) {
	for k := range strata {
		s := &strata[k]
		first, last := s.readings[0].Position, s.readings[len(s.readings)-1].Position
		s.width, s.gap = last-first, 0
		if k+1 < len(strata) {
			s.gap = strata[k+1].readings[0].Position - last
		}
		s.paces = map[int][]float64{}
		for _, r := range s.readings {
			s.paces[r.Run] = append(s.paces[r.Run], 1/r.Alone)
		}
	}
}

// timed finds how long strata take alone, by the median of the paces in the runs.
// Strata share the time of the gap between them evenly. Where the positions are
// all the same, all strata count alike.
func timed(strata []stratum, runs []int) {
	sum, before := 0.0, 0.0
	pace := strata[0].pace(runs)
	for k := range strata {
		s := &strata[k]
		s.alone = s.width*pace + before
		if k+1 < len(strata) {
			next := strata[k+1].pace(runs)
			before = s.gap / (1/pace + 1/next)
			s.alone += before
			pace = next
		}
		sum += s.alone
	}
	if !(sum > 0) {
		for k := range strata {
			strata[k].alone = 1
		}
	}
}

// pace returns the median time per work alone in the runs, or in all where the
// readings are of none of them.
func (s *stratum) pace(runs []int) float64 {
	var few [32]float64
	all := few[:0]
	for _, run := range runs {
		all = append(all, s.paces[run]...)
	}
	if len(all) == 0 {
		return s.pace(slices.Sorted(maps.Keys(s.paces)))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// drawReadings returns a bootstrap sample of the readings of each stratum.
func drawReadings(strata []stratum, random *rand.Rand) []stratum {
	sample := slices.Clone(strata)
	for k := range sample {
		from := strata[k].logs
		logs := make([]float64, max(len(from)-1, 1))
		for i := range logs {
			logs[i] = from[random.IntN(len(from))]
		}
		slices.Sort(logs)
		sample[k].logs, sample[k].log = logs, trimmedMean(logs)
	}
	return sample
}

// drawRuns returns the strata with their times from a bootstrap sample of runs.
func drawRuns(strata []stratum, runs []int, random *rand.Rand) []stratum {
	drawn := make([]int, len(runs)-1)
	for i := range drawn {
		drawn[i] = runs[random.IntN(len(runs))]
	}
	sample := slices.Clone(strata)
	timed(sample, drawn)
	return sample
}

// drawStrata returns a bootstrap sample of whole strata.
func drawStrata(strata []stratum, random *rand.Rand) []stratum {
	sample := make([]stratum, len(strata)-1)
	for k := range sample {
		sample[k] = strata[random.IntN(len(strata))]
	}
	return sample
}

// weighted returns the logarithm of Σ t ÷ Σ t·s.
func weighted(strata []stratum) float64 {
	var alone, beside float64
	for _, s := range strata {
		alone += s.alone
		beside += s.alone * math.Exp(-s.log)
	}
	return math.Log(alone / beside)
}

// pooled returns the trimmed mean of all logarithms.
func pooled(strata []stratum) float64 {
	if len(strata) == 1 {
		return strata[0].log
	}
	var logs []float64
	for _, s := range strata {
		logs = append(logs, s.logs...)
	}
	slices.Sort(logs)
	return trimmedMean(logs)
}

// trim is the share of the logarithms left out at each end.
const trim = 0.2

// trimmedMean returns the mean of values in ascending order without the lowest and
// the highest fifth (Tukey and McLaughlin 1963): nearly as precise as the mean
// where noise is normal, and unmoved by interruptions in up to a fifth of the
// slices.
func trimmedMean(sorted []float64) float64 {
	cut := int(trim * float64(len(sorted)))
	return stat.Mean(sorted[cut:len(sorted)-cut], nil)
}

// spread returns the robust standard deviation of readings, from the differences of
// neighbors, which phases hardly change.
func spread(strata []stratum) float64 {
	var apart []float64
	last := math.NaN()
	for _, s := range strata {
		for _, r := range s.readings {
			if !math.IsNaN(last) {
				apart = append(apart, math.Abs(r.Log-last)/math.Sqrt2)
			}
			last = r.Log
		}
	}
	if len(apart) == 0 {
		return 0
	}
	return normalMAD * stats.Median(apart)
}

// normalMAD is the standard deviation of a normal distribution ÷ its median
// absolute deviation.
const normalMAD = 1.4826

// differ reports whether the logarithms differ between strata beyond noise, by
// the test of Kruskal and Wallis on ranks.
func differ(strata []stratum) bool {
	if len(strata) < 2 {
		return false
	}
	type ranked struct {
		y       float64
		stratum int
	}
	var all []ranked
	for k, s := range strata {
		for _, r := range s.readings {
			all = append(all, ranked{r.Log, k})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.y, b.y) })
	sums := make([]float64, len(strata))
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].y == all[i].y {
			end++
		}
		for _, r := range all[i:end] {
			sums[r.stratum] += float64(i+1+end) / 2 // equals share their mean rank
		}
		i = end
	}
	n := float64(len(all))
	h := 0.0
	for k, s := range strata {
		h += sums[k] * sums[k] / float64(len(s.readings))
	}
	h = 12/(n*(n+1))*h - 3*(n+1)
	return distuv.ChiSquared{K: float64(len(strata) - 1)}.Survival(h) < phaseLevel
}
