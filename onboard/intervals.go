package onboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

const (
	// leastArrivals is the fewest arrivals from which a rate is computed.
	leastArrivals = 20
	// paceTolerance is the ratio of two neighboring controls above which the
	// application has changed its pace between them.
	paceTolerance = 1.5
)

// Interval is a stretch of a run whose progress was watched, beside one setting
// of the interferer.
type Interval struct {
	// Beside names the pressure; empty is an unpressed control.
	Beside string
	// Seconds are from the first arrival of progress to the last.
	Seconds float64
	// Units is the progress made in Seconds.
	Units float64
	// Arrivals counts the moments at which progress arrived. Lines that come
	// together, as from a buffer, count once.
	Arrivals int
	// WentBack is true when an absolute count fell.
	WentBack bool
	// Achieved is the interferer's traffic; zero in a control.
	Achieved units.Traffic
}

// fault returns why an interval has no rate; empty when it has one.
func (i Interval) fault() string {
	switch {
	case i.WentBack:
		return "count went back"
	case i.Arrivals < leastArrivals || i.Seconds <= 0 || i.Units <= 0:
		return "too few units"
	}
	return ""
}

// rate returns units per second.
func (i Interval) rate() float64 { return i.Units / i.Seconds }

// watched holds the measurements of intervals by pressure.
type watched struct {
	performance map[string][]float64
	achieved    map[string][]units.Traffic
	// discarded counts the pressed intervals left out, by reason.
	discarded map[string]int
}

// readIntervals compares every pressed interval of each run with the controls
// just before and just after it: normalized performance is its rate ÷ the mean
// of theirs. It leaves out intervals without a usable control on both sides, and
// those between controls of different pace, because of a phase or a disturbance.
func readIntervals(runs [][]Interval) watched {
	w := watched{performance: map[string][]float64{}, achieved: map[string][]units.Traffic{}, discarded: map[string]int{}}
	for _, run := range runs {
		for i, interval := range run {
			if interval.Beside == "" {
				continue
			}
			value, fault := normalizedInterval(run, i)
			if fault != "" {
				w.discarded[fault]++
				continue
			}
			w.performance[interval.Beside] = append(w.performance[interval.Beside], value)
			w.achieved[interval.Beside] = append(w.achieved[interval.Beside], interval.Achieved)
		}
	}
	return w
}

// normalizedInterval returns the normalized performance in interval i of a run, or
// the reason why there is none.
func normalizedInterval(run []Interval, i int) (float64, string) {
	if fault := run[i].fault(); fault != "" {
		return 0, fault
	}
	if i == 0 || i+1 >= len(run) {
		return 0, "no control on both sides"
	}
	before, after := run[i-1], run[i+1]
	for _, control := range []Interval{before, after} {
		if control.Beside != "" || control.fault() != "" {
			return 0, "no control on both sides"
		}
	}
	slow, fast := min(before.rate(), after.rate()), max(before.rate(), after.rate())
	value := run[i].rate() / ((slow + fast) / 2)
	if fast > paceTolerance*slow || value > v1alpha1.MaxNormalizedPerformance {
		return 0, "pace changed"
	}
	return max(value, lowestPerformance), ""
}

// kept returns the number of intervals that are used.
func (w watched) kept() int {
	n := 0
	for _, values := range w.performance {
		n += len(values)
	}
	return n
}

// lost describes the intervals that were left out; empty when none.
func (w watched) lost() string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(w.discarded)) {
		parts = append(parts, fmt.Sprintf("%d: %s", w.discarded[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// missing returns the pressures without a usable interval.
func (w watched) missing(pressures []MeasuredPressure) []string {
	var names []string
	for _, p := range pressures {
		if len(w.performance[p.String()]) == 0 {
			names = append(names, p.String())
		}
	}
	return names
}

// wants reports whether a pressure is not yet known to the wanted precision.
func (w watched) wants(pressures []MeasuredPressure, want Precision) bool {
	return slices.ContainsFunc(pressures, func(p MeasuredPressure) bool {
		values := w.performance[p.String()]
		return len(values) < want.MinRepeats || medianHalfWidth(values) > want.HalfWidth && len(values) < want.MaxRepeats
	})
}

// curves returns the measured points: medians over the intervals.
func (w watched) curves(pressures []MeasuredPressure) []v1alpha1.SensitivityCurve {
	var curves []v1alpha1.SensitivityCurve
	for _, p := range pressures {
		values := w.performance[p.String()]
		if len(values) == 0 {
			continue
		}
		var totals []float64
		for _, t := range w.achieved[p.String()] {
			totals = append(totals, float64(t.Total()))
		}
		achieved := stats.Median(totals)
		curves = addPoint(curves, p, v1alpha1.CurvePoint{
			Level: p.Level, InterfererBytesPerSecond: float64(p.Alone.Total()), AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: stats.Median(values), Repeats: len(values), Spread: spread(values),
		})
	}
	return ordered(curves)
}
