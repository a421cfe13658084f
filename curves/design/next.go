package design

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/units"
)

// Choice is the next run.
type Choice struct {
	Setting
	// Duty is the part of the time during which the interferer runs, above 0 to 1. It
	// bounds the time of a run: half duty at most doubles it. With T the whole time in
	// solo times, the performance under pressure is 1 − (1 − 1/T) ÷ Duty.
	Duty float64
	// Expected is the performance, Cost the time in solo times that is expected.
	Expected units.NormalizedPerformance
	Cost     float64
	// Before and After are the uncertainty without and with the run; Before is
	// NaN before the first.
	Before, After float64
}

// String says what was chosen and why.
func (c Choice) String() string {
	switch {
	case math.IsNaN(c.Before):
		return "the strongest pressure first"
	case c.After >= c.Before:
		return "measures the traffic of the application"
	}
	return fmt.Sprintf("reduces the uncertainty from %.1f to %.1f points", 100*c.Before, 100*c.After)
}

const (
	// firstDuty bounds the first run to two solo times.
	firstDuty = 0.5
	// leastDuty is the least duty that is informative.
	leastDuty = 0.25
	// worthwhile is the least relative reduction of the uncertainty by a further run.
	worthwhile = 0.02
)

// Next chooses the run that reduces the uncertainty most for its time; false when no run
// is worthwhile, for the reason that Reason returns.
func (d *Design) Next() (Choice, bool) {
	if len(d.seen) == 0 {
		s := Setting{d.options.Supplies[0].ReadShare, d.options.Levels[len(d.options.Levels)-1]}
		return Choice{Setting: s, Duty: firstDuty, Expected: d.Estimate(s).Performance, Cost: 1 / (1 - firstDuty/2), Before: math.NaN(), After: math.NaN()}, true
	}
	left := d.Budget() - d.spent
	before := d.Uncertainty()
	if s, missing := d.required(); missing {
		return d.choose(s, max(left/math.Max(math.Floor(left), 1), 1/(1-leastDuty)), before), true
	}
	if left < 1 || before <= d.options.Tolerance {
		return Choice{}, false
	}
	// The rest is divided among as many runs as it holds.
	allowance := left / math.Floor(left)
	best, gain, slopes := Choice{}, 0.0, d.slopes()
	for i, s := range d.all() {
		e := d.Estimate(s)
		expected := e.Performance
		duty := dutyFor(float64(expected)-e.SD, allowance)
		if duty < leastDuty {
			continue
		}
		cost := Cost(float64(expected), duty)
		after := d.after(i, d.options.Noise/(cost*duty), slopes)
		if per := (before - after) / cost; per > gain {
			gain = per
			best = Choice{Setting: s, Duty: duty, Expected: expected, Cost: cost, Before: before, After: after}
		}
	}
	return best, best.Before-best.After > worthwhile*before
}

// required is the first setting that has to be measured and was not.
func (d *Design) required() (Setting, bool) {
	for _, s := range d.options.Required {
		if !slices.ContainsFunc(d.seen, func(o Observation) bool { return o.Setting == s }) {
			return s, true
		}
	}
	return Setting{}, false
}

// choose is the run of a setting that costs no more than allowed, if it can.
func (d *Design) choose(s Setting, allowed, before float64) Choice {
	e := d.Estimate(s)
	duty := math.Max(dutyFor(float64(e.Performance)-e.SD, allowed), leastDuty)
	return Choice{
		Setting: s, Duty: duty, Expected: e.Performance, Cost: Cost(float64(e.Performance), duty), Before: before, After: before,
	}
}

// Budget returns the time that all runs may take, in solo times: Options.Budget, or half
// of it as long as no setting is expected to cost much performance.
func (d *Design) Budget() float64 {
	for _, s := range d.all() {
		if 1-float64(d.Estimate(s).Performance) > insensitive {
			return d.options.Budget
		}
	}
	return math.Max(d.options.Budget/2, 1)
}

// Reason says why there is no further run.
func (d *Design) Reason() string {
	switch doubt := d.Uncertainty(); {
	case doubt <= d.options.Tolerance:
		return fmt.Sprintf("the curves are known to %.1f points", 100*doubt)
	case d.Budget()-d.spent < 1:
		return fmt.Sprintf("%.1f of %.1f solo times are spent, the curves are known to %.1f points", d.spent, d.Budget(), 100*doubt)
	default:
		return fmt.Sprintf("no further run would reduce the uncertainty of %.1f points much", 100*doubt)
	}
}

// Cost returns the time of a run in solo times, for performance p under pressure and a
// duty of the interferer.
func Cost(p, duty float64) float64 { return 1 / (1 - duty*(1-math.Min(p, 1))) }

// dutyFor is the greatest duty, 1 at the most, with which a run costs no more
// than allowed.
func dutyFor(p, allowed float64) float64 {
	if p >= 1 {
		return 1
	}
	return math.Min((1-1/allowed)/(1-p), 1)
}
