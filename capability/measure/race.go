package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/capability/collective"
)

// RaceOptions are the options of Race.
type RaceOptions struct {
	// CPUs run one thread each, thread 0 the first one; each once.
	CPUs []int
	// Repeats bounds the repeats of each contestant, of raceRounds calls each.
	Repeats Repeats
	// Budget is the time for all contestants, above 0; the fewest repeats are made
	// in any case.
	Budget time.Duration
	// Progress is called before each repeat; may be nil.
	Progress func(done, total int, next string)
}

// Validate reports every option that is out of range.
func (o RaceOptions) Validate() error {
	var err error
	if len(o.CPUs) == 0 || len(slices.Compact(slices.Sorted(slices.Values(o.CPUs)))) != len(o.CPUs) {
		err = fmt.Errorf("CPUs %v: want one or more, each once", o.CPUs)
	}
	if o.Budget <= 0 {
		err = errors.Join(err, fmt.Errorf("budget of %v: want more than 0", o.Budget))
	}
	return errors.Join(err, o.Repeats.Validate())
}

// raceRounds is how often an operation is timed in one repeat.
const raceRounds = 201

// Race measures how long each contestant takes, in nanoseconds, from the common
// beginning until the last thread is done: the median over rounds, and of these the
// median over repeats. Contestants take turns, so that a change of the machine
// affects all of them. It goes on until all
// medians are precise, the repeats are made, or the budget is spent.
//
// Every contestant must be made for as many threads as there are CPUs: with
// fewer CPUs than threads the scheduler of the operating system would be raced.
func Race(ctx context.Context, o RaceOptions, contestants []collective.Contestant) ([]Median, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	values, medians := make([][]float64, len(contestants)), make([]Median, len(contestants))
	begin := time.Now()
	for repeat := range o.Repeats.Most {
		if repeat >= o.Repeats.Least && (time.Since(begin) > o.Budget || allPrecise(medians)) {
			break
		}
		for i, c := range contestants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if o.Progress != nil {
				o.Progress(repeat*len(contestants)+i, o.Repeats.Least*len(contestants), c.Name)
			}
			took, err := lap(o.CPUs, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			values[i] = append(values[i], float64(took))
			if len(values[i]) >= o.Repeats.Least {
				medians[i] = medianOf(values[i])
			}
		}
	}
	return medians, nil
}

func allPrecise(medians []Median) bool {
	return !slices.ContainsFunc(medians, func(m Median) bool { return !m.Precise() })
}

// lap is one repeat.
func lap(cpus []int, c collective.Contestant) (time.Duration, error) {
	slowest := make([]time.Duration, 0, raceRounds)
	err := inRounds(cpus, raceRounds, nil, func(i, _ int, w *window) time.Duration {
		c.Do(i)
		return w.elapsed()
	}, func(_ int, took []time.Duration) { slowest = append(slowest, slices.Max(took)) })
	if err != nil || len(slowest) == 0 {
		return 0, err
	}
	return interquartileMean(slowest), nil
}
