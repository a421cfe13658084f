package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/internal/memory"
)

// contentionRounds is how often a line is read at once in one repeat.
const contentionRounds = 101

// contention measures how long N threads take that read one line at once: as
// in section IV.A.2 of Ramos and Hoefler, the first CPU has written the line, the
// others copy it, and the slowest counts.
func (r *runner) contention() []section {
	most := len(r.options.CPUs) - 1
	if most < 1 {
		return nil
	}
	var b buffer
	s := section{
		open:  func(context.Context) (err error) { b, err = newBuffer(memory.HugePage, nil); return err },
		close: func() error { return b.Free() },
		done:  r.fitContention,
	}
	for _, n := range readerCounts(most) {
		cpus := r.options.CPUs[:n+1]
		s.values = append(s.values, value{
			what: fmt.Sprintf("contention, readers: %d", n),
			once: func() (float64, error) { return contended(cpus, &b.lines()[0]) },
			keep: func(m Median) {
				r.capability().ContentionPoints = append(r.capability().ContentionPoints, v1alpha1.ContentionPoint{
					Threads: n, Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
				})
			},
		})
	}
	return []section{s}
}

// readerCounts returns 1 to 4, then powers of two and three times powers of two,
// and most.
func readerCounts(most int) []int {
	var all []int
	for n := 1; n < most; n++ {
		if n <= 4 || n&(n-1) == 0 || n%3 == 0 && n/3&(n/3-1) == 0 {
			all = append(all, n)
		}
	}
	return append(all, most)
}

// contended returns the median over rounds of the time of the slowest reader.
func contended(cpus []int, shared *line) (float64, error) {
	slowest := make([]time.Duration, 0, contentionRounds)
	local := make([][2]line, len(cpus)) // two lines, so that no two threads share one
	clock := make([]time.Duration, len(cpus))
	err := inRounds(cpus, contentionRounds, func(round int) {
		for i := range shared {
			shared[i] = float64(round)
		}
	}, func(i, round int, w *window) time.Duration {
		if i == 0 {
			return 0
		}
		if round == 0 {
			clock[i] = clockCost(w)
			return clock[i] + 1
		}
		begin := w.now()
		local[i][0] = *shared
		return max(1, w.now()-begin-clock[i])
	}, func(round int, took []time.Duration) {
		if round > 0 {
			slowest = append(slowest, slices.Max(took))
		}
	})
	if err != nil || len(slowest) == 0 {
		return 0, err
	}
	return float64(interquartileMean(slowest)), nil
}

// clockCost returns the time that reading the clock adds.
func clockCost(w *window) time.Duration {
	times := make([]time.Duration, 101)
	for i := range times {
		begin := w.now()
		times[i] = w.now() - begin
	}
	return interquartileMean(times)
}

// fitContention fits α + β·N. With too few points, or with a line that cannot be,
// it warns and leaves Contention out.
func (r *runner) fitContention() {
	c := r.capability()
	points := make([]capability.FitPoint, len(c.ContentionPoints))
	for i, p := range c.ContentionPoints {
		points[i] = capability.FitPoint{N: p.Threads, Cost: capability.Cost(p.Nanoseconds)}
	}
	fit, err := capability.FitLine(points, false)
	switch {
	case errors.Is(err, capability.ErrTooFewPoints):
		r.warn("contention α + β·N was not fitted: %d of at least %d numbers of readers; it takes %d CPUs, and there is no tree without it",
			len(points), capability.MinFitPoints, capability.MinFitPoints+1)
	case err != nil:
		r.warn("contention α + β·N was not fitted: %v", err)
	case fit.Line.Base < 0 || fit.Line.Each < 0:
		r.warn("contention α + β·N was not fitted: a line through the %d points has α = %.0f ns and β = %.1f ns, and neither can be negative",
			len(points), float64(fit.Line.Base), float64(fit.Line.Each))
	default:
		c.Contention = &v1alpha1.ContentionCost{
			BaseNanoseconds: float64(fit.Line.Base), PerThreadNanoseconds: float64(fit.Line.Each),
			BaseIntervalNanoseconds: new(float64(fit.BaseInterval)), PerThreadIntervalNanoseconds: new(float64(fit.EachInterval)),
		}
	}
}
