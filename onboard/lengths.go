package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/regime"
)

const (
	// longestCompared is the length of slices from which there is nothing to
	// compare: four times as long is longer than most effects take.
	longestCompared = 10 * time.Millisecond
	// comparedBlocks is how many long blocks are compared.
	comparedBlocks = 24
	// comparedBudget bounds their time.
	comparedBudget = 4 * time.Second
)

// compareLengths measures the strongest pressure once more in slices of four times
// the length, while the parties are still there.
func (t *ticked) compareLengths(ctx context.Context, short *modulation.Plan, second *stream) error {
	if short.Bench.Slicing.Length > longestCompared {
		return nil
	}
	class := short.Outcome.Complete(short.Precision.Fewest)
	p, ok := t.strongest(&estimator{readings: short.Outcome.Readings[class], session: t.stage.Session})
	if !ok {
		return nil
	}
	t.tell(comparing, 0, t.Application.Name+" beside "+p.String()+", in longer slices")
	slow, err := t.longer(ctx, t.stage, short, pressurePoint(t.Application.Name, p, second), lengths{
		class: class, wait: true, fewest: comparedBlocks / 2, most: comparedBlocks, budget: comparedBudget,
		beside: p.String(), shown: "the curves show a part of it; --whole-runs measures all",
	})
	t.slow = slow
	return err
}

// lengths says how slices of two lengths are compared.
type lengths struct {
	class regime.Class
	// wait has only blocks of the class taken.
	wait bool
	// fewest and most bound the long blocks, budget their time and the time of waiting.
	fewest, most int
	budget       time.Duration
	// beside names the pressure, and shown what of its effect is shown.
	beside, shown string
}

// longer measures a point of a plan again in slices of four times the length. It returns a
// warning where the result is another one; empty where it is not, or there was no time.
func (t *ticked) longer(ctx context.Context, g *stage, short *modulation.Plan, point modulation.Point, l lengths) (string, error) {
	long := &modulation.Plan{
		Bench: g.bench(short.Bench.Slicing.Longer()), Points: []modulation.Point{point}, Probe: g.probe, Again: short.Again,
		Precision: modulation.Precision{StandardError: short.Precision.StandardError, Fewest: l.fewest, Most: l.most},
		Budget:    l.budget,
	}
	if l.wait {
		long.Class, long.MostWaited = l.class, l.budget
	}
	err := g.run(ctx, long)
	if errors.Is(err, modulation.ErrRegimeLeft) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	name := point.Compare[0].Name
	readings := long.Outcome.Readings[l.class][name]
	if len(readings) < l.fewest {
		return "", nil
	}
	c := modulation.CheckLengths(short.Outcome.Readings[l.class][name], readings, t.Random)
	if !c.Slow {
		return "", nil
	}
	return fmt.Sprintf("slices: beside %s the performance is %.3f ± %.3f in slices of %v and %.3f ± %.3f in slices of %v: the effect of a pressure takes longer than a slice, and %s",
		l.beside, c.Short.Performance, c.Short.StandardError, short.Bench.Slicing.Length, c.Long.Performance, c.Long.StandardError, long.Bench.Slicing.Length, l.shown), nil
}
