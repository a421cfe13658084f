package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// collection holds the samples of one regime, in the order they were taken.
type collection struct {
	samples []Sample
	counts  map[Key]int
}

func newCollection() *collection { return &collection{counts: map[Key]int{}} }

func (c *collection) add(s Sample) {
	c.samples = append(c.samples, s)
	c.counts[s.Key]++
}

func (c *collection) size() int { return len(c.samples) }

// count returns the number of usable samples of a condition.
func (c *collection) count(key Key) int {
	if key.Beside == "" {
		return c.counts[key]
	}
	return len(c.normalized(key))
}

// next returns the condition to measure now, and about how many samples are
// missing. It completes one target after the other. Each spell and every few
// samples begin with the target's solo control; otherwise it takes at random one
// of the conditions with the fewest repeats.
func (c *collection) next(conditions []Condition, want Precision, spell int, random *rand.Rand) (Condition, int) {
	pending := 0
	var target string
	var candidates []Condition
	fewest := 0
	solo := map[string]Condition{}
	for _, condition := range conditions {
		if condition.Beside == "" {
			solo[condition.Target] = condition
		}
		missing := c.missing(condition.Key(), want)
		if missing == 0 {
			continue
		}
		pending += missing
		if condition.Beside == "" {
			continue
		}
		count := c.count(condition.Key())
		switch {
		case target == "":
			target = condition.Target
		case target != condition.Target:
			continue
		}
		if len(candidates) == 0 || count < fewest {
			candidates, fewest = candidates[:0], count
		}
		if count == fewest {
			candidates = append(candidates, condition)
		}
	}
	if target == "" {
		return c.onlySolos(conditions, want, pending)
	}
	// The control comes before the samples it normalizes, and once more after
	// the last of them.
	if control, ok := solo[target]; ok && c.sinceSolo(target, spell) >= soloEvery {
		return control, pending
	}
	return candidates[random.IntN(len(candidates))], pending
}

// left returns how many samples are missing: if every condition is precise after the fewest
// repeats, and if none is before the most. Both include solo controls.
func (c *collection) left(conditions []Condition, want Precision) (least, most int) {
	type samples struct{ solos, least, most int }
	targets := map[string]samples{}
	for _, condition := range conditions {
		of, missing := targets[condition.Target], c.missing(condition.Key(), want)
		switch {
		case condition.Beside == "":
			of.solos = missing
		case missing > 0:
			of.least += missing
			of.most += want.MaxRepeats - c.count(condition.Key())
		}
		targets[condition.Target] = of
	}
	for _, of := range targets {
		least += of.least + max(of.solos, (of.least-1)/soloEvery)
		most += of.most + max(of.solos, (of.most+soloEvery-1)/soloEvery)
	}
	return least, most
}

// onlySolos returns the control of a target whose other conditions are all done.
func (c *collection) onlySolos(conditions []Condition, want Precision, pending int) (Condition, int) {
	for _, condition := range conditions {
		if condition.Beside == "" && c.missing(condition.Key(), want) > 0 {
			return condition, pending
		}
	}
	return Condition{}, 0
}

// sinceSolo counts the target's samples since its last solo control in this
// spell; soloEvery when the spell has none yet.
func (c *collection) sinceSolo(target string, spell int) int {
	count := 0
	for _, s := range slices.Backward(c.samples) {
		if s.Spell != spell {
			break
		}
		if s.Target != target {
			continue
		}
		if s.Beside == "" {
			return count
		}
		count++
	}
	return soloEvery
}

// missing returns how many more samples of a condition the precision asks for:
// one at a time once the minimum is reached.
func (c *collection) missing(key Key, want Precision) int {
	count := c.count(key)
	if key.Beside == "" {
		return max(max(want.MinSolos, want.MinRepeats)-count, 0)
	}
	if count < want.MinRepeats {
		return want.MinRepeats - count
	}
	if count >= want.MaxRepeats || medianHalfWidth(c.normalized(key)) <= want.HalfWidth {
		return 0
	}
	return 1
}

// normalized lists a condition's solo time ÷ co-run time, sample by sample, each
// relative to the solo controls nearest to it. It leaves out samples that are
// much faster than their controls, which were disturbed.
func (c *collection) normalized(key Key) []float64 {
	var values []float64
	for i, s := range c.samples {
		if s.Key != key {
			continue
		}
		if solo, ok := c.soloNear(i); ok {
			if v := s.Performance(solo); v <= v1alpha1.MaxNormalizedPerformance {
				values = append(values, v)
			}
		}
	}
	return values
}

// Performance returns solo time ÷ co-run time. For a run that was pressed for a
// part of its time, it is the performance in that part, given that the application
// ran at full speed for the rest and did the work of the solo time in all.
func (o *Observation) Performance(solo time.Duration) float64 {
	if o.Pressed <= 0 {
		return solo.Seconds() / o.Wall.Seconds()
	}
	return max((solo-o.Wall+o.Pressed).Seconds()/o.Pressed.Seconds(), LowestPerformance)
}

// soloControls is the number of solo controls that normalize a sample: the median
// of five withstands two that were disturbed.
const soloControls = 5

// soloNear returns the solo time that normalizes sample i: the median of the
// nearest controls of its spell, and of other spells of the regime where the
// spell has too few.
func (c *collection) soloNear(i int) (time.Duration, bool) {
	at := c.samples[i]
	var seconds []float64
	collect := func(sameSpell bool) {
		for distance := 1; distance < len(c.samples) && len(seconds) < soloControls; distance++ {
			for _, j := range []int{i - distance, i + distance} {
				if j < 0 || j >= len(c.samples) || len(seconds) == soloControls {
					continue
				}
				s := c.samples[j]
				if s.Target == at.Target && s.Beside == "" && (s.Spell == at.Spell) == sameSpell {
					seconds = append(seconds, s.Wall.Seconds())
				}
			}
		}
	}
	collect(true)
	collect(false)
	if len(seconds) == 0 {
		return 0, false
	}
	return time.Duration(stats.Median(seconds) * float64(time.Second)), true
}

// Result is the repeated measurement of one condition.
type Result struct {
	NormalizedPerformance units.NormalizedPerformance
	// Spread is the standard deviation over the repeats; nil with fewer than two.
	Spread  *float64
	Repeats int
	// Achieved is the median traffic of the interferer beside the target.
	Achieved units.Traffic
	// Alone is the median of what an unpaced interferer reached around the
	// samples; zero when not read.
	Alone units.Bandwidth
	// RelativeSpeed is the median of the interferer's speed beside the target ÷
	// alone, sample by sample; NaN when not read.
	RelativeSpeed float64
	// StandardError is that of NormalizedPerformance, RelativeSpeedError that of
	// RelativeSpeed; 0 when unknown.
	StandardError, RelativeSpeedError float64
}

// Result summarizes a condition; false when it has no sample.
func (c *collection) Result(key Key) (Result, bool) {
	values := c.normalized(key)
	if len(values) == 0 {
		return Result{}, false
	}
	var read, write, alone, relative []float64
	for _, s := range c.samples {
		if s.Key != key {
			continue
		}
		read = append(read, float64(s.Achieved.Traffic.Read))
		write = append(write, float64(s.Achieved.Traffic.Write))
		if total := s.Alone.Total(); total > 0 {
			alone = append(alone, float64(total))
			relative = append(relative, float64(s.Achieved.Traffic.Total()/total))
		}
	}
	result := Result{
		NormalizedPerformance: units.NormalizedPerformance(stats.Median(values)),
		Spread:                stats.Spread(values),
		Repeats:               len(values),
		Achieved:              units.Traffic{Read: units.Bandwidth(stats.Median(read)), Write: units.Bandwidth(stats.Median(write))},
		RelativeSpeed:         stats.Median(relative),
	}
	if len(alone) > 0 {
		result.Alone = units.Bandwidth(stats.Median(alone))
	}
	return result, true
}

// Solo summarizes a target's solo times; false when it has none.
func (c *collection) Solo(target string) (v1alpha1.Timing, bool) {
	var seconds []float64
	for _, s := range c.samples {
		if s.Target == target && s.Beside == "" {
			seconds = append(seconds, s.Wall.Seconds())
		}
	}
	if len(seconds) == 0 {
		return v1alpha1.Timing{}, false
	}
	return Timing(seconds), true
}

// Timing summarizes the times of runs, one at least.
func Timing(seconds []float64) v1alpha1.Timing {
	timing := v1alpha1.Timing{Seconds: stats.Median(seconds), Repeats: len(seconds)}
	if sd := stats.Spread(seconds); sd != nil {
		timing.RelativeSpread = new(*sd / timing.Seconds)
	}
	return timing
}

// medianHalfWidth returns the half width of the 90% interval of the median of
// values, by the normal approximation 1.645 · 1.2533 · SD ÷ √n; +Inf with
// fewer than two values.
func medianHalfWidth(values []float64) float64 {
	sd := stats.Spread(values)
	if sd == nil {
		return math.Inf(1)
	}
	return 1.645 * 1.2533 * *sd / math.Sqrt(float64(len(values)))
}

// LowestPerformance keeps a noisy reading above zero.
const LowestPerformance = 0.01
