package modulation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"bandmate.dev/bandmate/regime"
)

// refilled is the time after which most programs have filled a cache of 32 MiB again, as
// far as they use it: those that were seen took 5 to 10 ms.
const refilled = 8 * time.Millisecond

// Longer returns slices that settle for twice as long as s, and 8 ms at least, and then
// count for 8 ms at least.
func (s Slicing) Longer() Slicing {
	settle := max(2*s.Settle, refilled)
	return Slicing{Length: settle + max(s.counted(), refilled), Settle: settle}
}

// LengthCheck compares the estimates from slices of two lengths.
type LengthCheck struct {
	Short, Long Estimate
	// Difference is the performance in long slices ÷ that in short ones - 1: below
	// 0 where a pressure takes more than a slice to have all of its effect.
	Difference float64
	// StandardError is that of Difference.
	StandardError float64
	// Slow says that the performance is lower in long slices, beyond noise and by more
	// than 1%: short slices do not show the whole effect.
	Slow bool
}

const (
	// lengthLevel is the probability with which noise alone makes a LengthCheck Slow.
	lengthLevel = 0.01
	// fewestDifference is the smallest that matters.
	fewestDifference = 0.01
)

// CheckLengths compares readings of a comparison from slices of some length with
// those from Longer ones, taken in the same regime and, where the program has phases, in the
// same of them.
func CheckLengths(short, long []Reading, random *rand.Rand) LengthCheck {
	c := LengthCheck{Short: Summarize(short, random), Long: Summarize(long, random)}
	ratio := c.Long.Performance / c.Short.Performance
	c.Difference = ratio - 1
	c.StandardError = ratio * math.Hypot(c.Short.StandardError/c.Short.Performance, c.Long.StandardError/c.Long.Performance)
	// The smaller of the two samples bounds the degrees of freedom.
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(min(len(short), len(long))-1, 1))}
	c.Slow = -c.Difference > max(fewestDifference, t.Quantile(1-lengthLevel)*c.StandardError)
	return c
}

// Lengths says how slices of different lengths are compared.
type Lengths struct {
	// Fewest and Most bound the blocks of each length.
	Fewest, Most int
	// Budget bounds the time for slices of each length, and that of waiting for a
	// placement regime. It is above 0.
	Budget time.Duration
	// Run carries out a plan; nil means [Plan.Run].
	Run func(context.Context, *Plan) error
}

// fit reports whether there is time for the fewest blocks of a point.
func (l Lengths) fit(s Slicing, point Point) bool {
	return time.Duration(2*l.Fewest*len(point.States))*s.Length <= l.Budget
}

// CompareLonger measures a point of a plan that was carried out again, in the slices of that
// plan and in Longer ones by turns, so that both are of the same part of a run, and compares
// the results in a placement regime; false where there were too few blocks of either length.
// The error is that of [Plan.Run], but for ErrRegimeLeft, ErrStalled and ErrEnded.
func (p *Plan) CompareLonger(ctx context.Context, point Point, class regime.Class, l Lengths) (LengthCheck, bool, error) {
	s := p.Bench.Slicing
	long := point
	long.Slicing = s.Longer()
	if !l.fit(long.Slicing, point) {
		return LengthCheck{}, false, nil
	}
	long.Compare = slices.Clone(point.Compare)
	for i := range long.Compare {
		long.Compare[i].Name += " in longer slices"
	}
	both := p.with(s, point, l)
	both.Class, both.Points = class, []Point{point, long}
	both.Budget += time.Duration(float64(l.Budget) * float64(s.Length) / float64(long.Slicing.Length))
	// As many of each length: where one is precise first, the other goes on alone, in
	// another part of the run.
	both.Precision.Fewest = l.Most
	if err := l.run(ctx, both); err != nil {
		return LengthCheck{}, false, err
	}
	if both.Bench.Slicing != s {
		return LengthCheck{}, false, nil // the short slices had to become longer
	}
	of := both.Outcome.Readings[class]
	short, longer := of[point.Compare[0].Name], of[long.Compare[0].Name]
	if min(len(short), len(longer)) < max(l.Fewest, FewestReadings) {
		return LengthCheck{}, false, nil
	}
	return CheckLengths(short, longer, p.Bench.Random), true, nil
}

// with returns a plan of one point with the parties of p, in slices s.
func (p *Plan) with(s Slicing, point Point, l Lengths) *Plan {
	b := p.Bench
	return &Plan{
		Bench:     &Bench{Clock: b.Clock, Random: b.Random, Parties: b.Parties, Patience: b.Patience, Slicing: s},
		Points:    []Point{point},
		Precision: Precision{StandardError: p.Precision.StandardError, Fewest: l.Fewest, Most: l.Most},
		Probe:     p.Probe, Again: p.Again, Budget: l.Budget, MostWaited: l.Budget,
		Outcome: newOutcome(),
	}
}

// run carries out a plan of slices as far as that goes.
func (l Lengths) run(ctx context.Context, p *Plan) error {
	run := l.Run
	if run == nil {
		run = func(ctx context.Context, p *Plan) error { return p.Run(ctx) }
	}
	err := run(ctx, p)
	if errors.Is(err, ErrRegimeLeft) || errors.Is(err, ErrStalled) || errors.Is(err, ErrEnded) {
		return nil
	}
	return err
}
