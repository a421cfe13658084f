package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Precision is the half width of the 95% interval ÷ the median that is aimed at.
const Precision = 0.1

// Repeats bounds how often a value is measured.
type Repeats struct {
	// Least and Most are numbers of repeats, at least MinRepeats: fewer have no
	// 95% interval.
	Least, Most int
}

// MinRepeats is the least number of values whose extremes enclose their median
// with a probability of 95%: 1 − 2·0.5^6 = 97%.
const MinRepeats = 6

// Validate refuses bounds that no interval comes of.
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
	Repeats          int
}

// Settled reports whether the interval is within Precision.
func (m Median) Settled() bool { return m.RelativeInterval <= Precision }

// until repeats a measurement until its median is settled or it was done Most
// times.
func (r Repeats) until(ctx context.Context, once func() (float64, error)) (Median, error) {
	var values []float64
	for {
		if err := ctx.Err(); err != nil {
			return Median{}, err
		}
		v, err := once()
		if err != nil {
			return Median{}, err
		}
		if !(v > 0) || math.IsInf(v, 0) {
			return Median{}, errNoValue
		}
		values = append(values, v)
		if len(values) < r.Least {
			continue
		}
		if m := medianOf(values); m.Settled() || len(values) >= r.Most {
			return m, nil
		}
	}
}

// errNoValue is a measurement too short for the clock.
var errNoValue = errors.New("took no time by the clock of this machine")

// medianOf returns the median and its interval by order statistics, which
// assumes nothing of the distribution: the values k from either end enclose the
// median with a probability of 1 − 2·P(X < k), X binomial over n and one half.
func medianOf(values []float64) Median {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	middle := (sorted[(n-1)/2] + sorted[n/2]) / 2
	k := outside(n)
	half := max(middle-sorted[k], sorted[n-1-k]-middle)
	return Median{Value: middle, RelativeInterval: half / middle, Repeats: n}
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
