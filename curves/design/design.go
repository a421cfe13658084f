package design

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"bandmate.dev/bandmate/units"
)

// Options configure a search.
type Options struct {
	// Supplies are the read shares that may be measured; at least one.
	Supplies []Supply
	// Levels are those that may be measured, above 0 to 1; at least one. The
	// highest is where the first run goes.
	Levels []float64
	// Own is the application's traffic alone; 0 where it is unknown, and then
	// estimated from the first run.
	Own units.Bandwidth
	// Noise is the standard deviation of the time of a run, relative to it; 0
	// means 0.01.
	Noise float64
	// Budget bounds the expected time of all runs beside the interferer, in solo
	// times, 1 or more; 0 means 4. An insensitive application gets half.
	Budget float64
	// Required are settings to measure in any case, before others.
	Required []Setting
	// Tolerance is the mean standard deviation of the performance over all settings
	// that ends the search; 0 means 0.01.
	Tolerance float64
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var faults []error
	if len(o.Supplies) == 0 || len(o.Levels) == 0 {
		faults = append(faults, errors.New("want at least one read share and one level"))
	}
	for _, s := range o.Supplies {
		if err := s.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("supply at %v reads: %w", s.ReadShare, err))
		}
	}
	for _, l := range o.Levels {
		if !(l > 0 && l <= 1) {
			faults = append(faults, fmt.Errorf("level %v: want above 0 to 1", l))
		}
	}
	if !o.Own.Valid() {
		faults = append(faults, fmt.Errorf("own traffic %v: want a finite rate of 0 or more", float64(o.Own)))
	}
	if !(o.Noise >= 0 && o.Noise <= 0.5) || !(o.Tolerance >= 0 && o.Tolerance <= 0.5) {
		faults = append(faults, fmt.Errorf("noise %v and tolerance %v: want 0 to 0.5", o.Noise, o.Tolerance))
	}
	if o.Budget != 0 && !(o.Budget >= 1 && o.Budget <= 1000) {
		faults = append(faults, fmt.Errorf("budget %v: want 1 to 1000 solo times", o.Budget))
	}
	return errors.Join(faults...)
}

const (
	defaultNoise     = 0.01
	defaultTolerance = 0.01
	defaultBudget    = 4
	// leastNoise is the least noise of a run.
	leastNoise = 1e-4
	// insensitive is the loss of performance up to which an application gets
	// half the budget.
	insensitive = 0.05
)

func (o Options) withDefaults() Options {
	o.Noise = cmp.Or(o.Noise, defaultNoise)
	o.Budget = cmp.Or(o.Budget, defaultBudget)
	o.Tolerance = cmp.Or(o.Tolerance, defaultTolerance)
	o.Supplies = slices.SortedFunc(slices.Values(o.Supplies), func(a, b Supply) int { return cmp.Compare(a.ReadShare, b.ReadShare) })
	o.Levels = slices.Sorted(slices.Values(o.Levels))
	return o
}

// Observation is one run beside the interferer.
type Observation struct {
	Setting
	// Performance is the application's normalized performance under pressure.
	Performance units.NormalizedPerformance
	// Achieved is the interferer's bandwidth meanwhile.
	Achieved units.Bandwidth
	// Cost is the whole run in solo times.
	Cost float64
	// Noise is the standard deviation of Performance; 0 means Options.Noise.
	Noise float64
}

// Design is the search for one application. The zero value is not usable.
type Design struct {
	options Options
	own     units.Bandwidth
	seen    []Observation
	spent   float64
	belief  *posterior
}

// New begins a search. It fails on options that do not validate.
func New(o Options) (*Design, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("choosing the pressures to measure: %w", err)
	}
	d := &Design{options: o.withDefaults(), own: o.Own}
	d.belief = d.fit()
	return d, nil
}

// supply returns what the memory gives at a read share, or at the nearest one.
func (d *Design) supply(share units.ReadShare) Supply {
	best := d.options.Supplies[0]
	for _, s := range d.options.Supplies[1:] {
		if math.Abs(float64(s.ReadShare-share)) < math.Abs(float64(best.ReadShare-share)) {
			best = s
		}
	}
	return best
}

// Observe takes in a run.
func (d *Design) Observe(o Observation) {
	if !(o.Noise > 0) {
		o.Noise = d.options.Noise
	}
	o.Noise = max(o.Noise, leastNoise)
	o.Performance = min(max(o.Performance, lowest), 1.5)
	d.seen = append(d.seen, o)
	d.spent += o.Cost
	if d.options.Own == 0 {
		d.own = 0
		for _, s := range d.seen {
			if from := d.supply(s.ReadShare).ownFrom(s); s.Level == 1 && (d.own == 0 || from < d.own) {
				d.own = from
			}
		}
	}
	d.belief = d.fit()
}

// Spent is the cost of all runs so far, in solo times.
func (d *Design) Spent() float64 { return d.spent }

// Estimate is the posterior estimate of a setting.
type Estimate struct {
	Performance units.NormalizedPerformance
	// SD is the standard deviation of Performance.
	SD float64
	// Alone and Achieved are the interferer's bandwidth without and beside the
	// application.
	Alone, Achieved units.Bandwidth
}

// Estimate returns the current estimate of a setting.
func (d *Design) Estimate(s Setting) Estimate {
	supply := d.supply(s.ReadShare)
	theta := d.belief.theta(s)
	at := supply.beside(d.own, theta, s.Level)
	_, slope := d.slope(s, theta)
	return Estimate{
		Performance: at.performance, SD: math.Abs(slope) * d.belief.spread(s),
		Alone: supply.Sustained * units.Bandwidth(s.Level), Achieved: at.achieved,
	}
}

// Uncertainty returns the mean standard deviation of the performance over all settings.
func (d *Design) Uncertainty() float64 {
	sum, n := 0.0, 0
	for _, s := range d.all() {
		sum += d.Estimate(s).SD
		n++
	}
	return sum / float64(n)
}

// all lists every setting that may be measured.
func (d *Design) all() []Setting {
	var all []Setting
	for _, s := range d.options.Supplies {
		for _, l := range d.options.Levels {
			all = append(all, Setting{s.ReadShare, l})
		}
	}
	return all
}

// slopes are the derivatives of the performance at all settings.
func (d *Design) slopes() []float64 {
	all := d.all()
	slopes := make([]float64, len(all))
	for i, s := range all {
		_, slopes[i] = d.slope(s, d.belief.theta(s))
	}
	return slopes
}

// after returns the uncertainty that a run of the i-th setting would leave, by the
// Sherman–Morrison update of the covariance.
func (d *Design) after(i int, noise float64, slopes []float64) float64 {
	all := d.all()
	b := basis(all[i])
	v := mat.NewVecDense(terms, b[:])
	var shared mat.VecDense
	shared.MulVec(d.belief.covariance, v)
	known := math.Hypot(noise/math.Max(math.Abs(slopes[i]), 1e-9), modelError)
	left := mat.Dot(v, &shared) + known*known
	sum := 0.0
	for j, other := range all {
		o := basis(other)
		w := mat.NewVecDense(terms, o[:])
		common := mat.Dot(w, &shared)
		variance := math.Max(mat.Inner(w, d.belief.covariance, w)-common*common/left, 0)
		sum += math.Abs(slopes[j]) * math.Hypot(math.Sqrt(variance), modelError)
	}
	return sum / float64(len(all))
}
