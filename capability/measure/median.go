package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/internal/stats"
)

// Precision is the target half width of the 95% interval ÷ the median.
const Precision = 0.1

// Repeats bounds how often a value is measured.
type Repeats struct {
	// Least and Most are numbers of repeats, at least MinRepeats: fewer have no
	// 95% interval.
	Least, Most int
}

// MinRepeats is the least number of values whose extremes enclose their median
// with a probability of 95% or more: 1 − 2·0.5^6 = 97%.
const MinRepeats = 6

// Validate refuses bounds that yield no interval.
func (r Repeats) Validate() error {
	if r.Least < MinRepeats || r.Most < r.Least || r.Most > 10_000 {
		return fmt.Errorf("%d to %d repeats: want at least %d, and at most 10000", r.Least, r.Most, MinRepeats)
	}
	return nil
}

// Median is the middle of repeated values.
type Median struct {
	Value float64
	// RelativeInterval is the larger half of the 95% interval ÷ the median.
	RelativeInterval float64
	// Repeats are the values that the median is of.
	Repeats int
	// Disturbed counts the repeats in which another program took a CPU. They are
	// left out, unless there are too few others: then Mixed is true.
	Disturbed int
	Mixed     bool
}

// Precise reports whether the interval is within Precision.
func (m Median) Precise() bool { return m.RelativeInterval <= Precision }

// Doubt says that m is not precise; empty if it is. The interval is rounded up, so that
// none of 10.02% is ±10%.
func (m Median) Doubt() string {
	if m.Precise() {
		return ""
	}
	return fmt.Sprintf("the 95%% interval is ±%.1f%% after %d repeats, not within 10%%", math.Ceil(1000*m.RelativeInterval)/10, m.Repeats)
}

// errDisturbed is returned, with a value, when another program took a CPU during
// the measurement.
var errDisturbed = errors.New("something else ran on the CPU")

// patience bounds the repeats in search of undisturbed ones after the time is
// spent, as a multiple of Least.
const patience = 4

// until repeats a measurement until its median is precise, it was made Most times,
// or, after Least times, its time is spent.
func (r Repeats) until(ctx context.Context, spent func() bool, once func() (float64, error)) (Median, error) {
	var values, disturbed []float64
	for {
		if err := ctx.Err(); err != nil {
			return Median{}, err
		}
		v, err := once()
		if err != nil && !errors.Is(err, errDisturbed) {
			return Median{}, err
		}
		if !(v > 0) || math.IsInf(v, 0) {
			return Median{}, errNoValue
		}
		if err != nil {
			disturbed = append(disturbed, v)
		} else {
			values = append(values, v)
		}
		if m, enough := r.enough(values, disturbed, spent); enough {
			return m, nil
		}
	}
}

// enough returns the median when no further repeat is wanted.
func (r Repeats) enough(values, disturbed []float64, spent func() bool) (Median, bool) {
	tries := len(values) + len(disturbed)
	if len(values) >= r.Least {
		m := medianOf(values)
		m.Disturbed = len(disturbed)
		return m, m.Precise() || tries >= r.Most || spent()
	}
	if tries < r.Most && (tries < min(r.Most, patience*r.Least) || !spent()) {
		return Median{}, false
	}
	m := medianOf(slices.Concat(values, disturbed))
	m.Disturbed, m.Mixed = len(disturbed), true
	return m, true
}

// errNoValue says that a measurement was too short for the clock.
var errNoValue = errors.New("took no time by the clock of this machine")

// interquartileMean returns the mean of the middle half of the values of one
// repeat. It is as robust as a median, and finer than the clock, which ticks in
// 10 ns on some machines.
func interquartileMean(values []time.Duration) time.Duration {
	slices.Sort(values)
	half := values[len(values)/4 : len(values)-len(values)/4]
	var sum time.Duration
	for _, v := range half {
		sum += v
	}
	return sum / time.Duration(len(half))
}

// medianOf returns the median and its interval by order statistics, which
// assume nothing about the distribution: the values k from either end enclose the
// median with a probability of 1 − 2·P(X < k), X binomial over n and one half.
func medianOf(values []float64) Median {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median := stats.Median(sorted)
	k := outside(n)
	half := max(median-sorted[k], sorted[n-1-k]-median)
	return Median{Value: median, RelativeInterval: half / median, Repeats: n}
}

// outside returns how many values at either end lie outside the 95% interval.
func outside(n int) int {
	const tail = 0.025
	probability := math.Pow(0.5, float64(n)) // of no value below the median
	sum, k := 0.0, 0
	for k < (n-1)/2 {
		sum += probability
		if next := sum + probability*float64(n-k)/float64(k+1); next > tail {
			break
		}
		probability *= float64(n-k) / float64(k+1)
		k++
	}
	return k
}
