package onboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
)

const (
	// longestCompared is the length of slices from which there is nothing to
	// compare: it is longer than most effects take.
	longestCompared = 40 * time.Millisecond
	// fewestCompared and comparedBlocks bound the blocks of either length that are
	// compared, and comparedBudget their time.
	fewestCompared, comparedBlocks = 12, 48
	comparedBudget                 = 4 * time.Second
)

// slicesFor returns the slices of a plan: longer ones than it has, unless these are seen to
// show all of what the states of a point differ by. A stream replaces what a cache holds
// within a millisecond; a program needs as long to fill it again as its own misses take, and
// in short slices it is never seen as fast as it is alone.
func (g *stage) slicesFor(ctx context.Context, plan *modulation.Plan, point modulation.Point, budget time.Duration) (modulation.Slicing, error) {
	own := plan.Bench.Slicing
	if own.Length > longestCompared {
		return own, nil
	}
	brief := &modulation.Plan{
		Bench: g.bench(own), Points: []modulation.Point{point}, Probe: g.probe, Again: plan.Again,
		Precision: modulation.Precision{StandardError: plan.Precision.StandardError, Fewest: comparedBlocks, Most: comparedBlocks},
		Budget:    budget, Class: plan.Class, MostWaited: budget,
	}
	err := g.run(ctx, brief)
	if errors.Is(err, modulation.ErrRegimeLeft) {
		return own.Longer(), nil
	}
	if err != nil {
		return own, err
	}
	class := brief.Outcome.Complete(comparedBlocks)
	if class == "" {
		return own.Longer(), nil
	}
	classes := regime.Classes()
	for _, nearer := range classes[:slices.Index(classes, class)] {
		if len(brief.Outcome.RoundTrips[nearer]) > 0 {
			return own.Longer(), nil // the plan may be carried out there, where a neighbor does more
		}
	}
	c, ok, err := g.longer(ctx, brief, point, lengths{
		class: class, wait: true, fewest: fewestCompared, most: comparedBlocks, budget: budget,
	})
	if ok && c.Enough || err != nil {
		return own, err
	}
	return own.Longer(), nil
}

// chooseLength has a plan take slices in which the strongest pressure has all of its effect.
func (t *ticked) chooseLength(ctx context.Context, u *underPressure) error {
	p := strongestPressure(t.experiment.Pressures)
	t.tell(comparing, 0, t.Application.Name+" beside "+p.String()+", in slices of two lengths")
	point := pressurePoint(t.Application.Name, p, u.second)
	point.States, point.Compare = point.States[:2], point.Compare[:1] // the interferer's own speed does not matter here
	s, err := t.slicesFor(ctx, u.plan, point, comparedBudget)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	t.slicing, t.lengthened = s, s != u.plan.Bench.Slicing
	u.plan.Bench.Slicing = s
	return nil
}

// strongestPressure returns the one that transfers most: the highest level of a stream, and
// of these the one with the most writes.
func strongestPressure(all []pressure.Measured) pressure.Measured {
	strongest := all[0]
	for _, p := range all[1:] {
		if p.Level > strongest.Level || p.Level == strongest.Level && p.ReadShare < strongest.ReadShare {
			strongest = p
		}
	}
	return strongest
}

// compareLengths measures the strongest pressure once more in longer slices than those of a
// plan for which chooseLength chose long ones, while the parties are still there.
func (t *ticked) compareLengths(ctx context.Context, chosen *modulation.Plan, second *stream) error {
	if !t.lengthened || chosen.Bench.Slicing.Length > longestCompared {
		return nil
	}
	class := chosen.Outcome.Complete(chosen.Precision.Fewest)
	p, ok := t.strongest(&estimator{readings: chosen.Outcome.Readings[class], session: t.stage.Session})
	if !ok {
		return nil
	}
	t.tell(comparing, 0, t.Application.Name+" beside "+p.String()+", in longer slices")
	c, ok, err := t.longer(ctx, chosen, pressurePoint(t.Application.Name, p, second), lengths{
		class: class, wait: true, fewest: fewestCompared, most: comparedBlocks, budget: comparedBudget,
	})
	if ok && c.Slow {
		t.slow = slowWarning(c, chosen.Bench.Slicing, p.String(), "the curves show a part of it; --whole-runs measures all")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	return nil
}

// lengths says how slices of two lengths are compared.
type lengths struct {
	class regime.Class
	// wait has only blocks of the class taken.
	wait bool
	// fewest and most bound the long blocks, budget their time and the time of waiting.
	fewest, most int
	budget       time.Duration
}

// longer measures a point of a plan again in longer slices and compares the results; false
// where there was no time for that.
func (g *stage) longer(ctx context.Context, short *modulation.Plan, point modulation.Point, l lengths) (modulation.LengthCheck, bool, error) {
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
		return modulation.LengthCheck{}, false, nil
	}
	if err != nil {
		return modulation.LengthCheck{}, false, err
	}
	name := point.Compare[0].Name
	before, readings := short.Outcome.Readings[l.class][name], long.Outcome.Readings[l.class][name]
	if min(len(before), len(readings)) < l.fewest {
		return modulation.LengthCheck{}, false, nil
	}
	return modulation.CheckLengths(before, readings, g.Random), true, nil
}

// slowWarning says that slices are too short for the whole effect of what stands beside the
// application, and what of it is shown.
func slowWarning(c modulation.LengthCheck, short modulation.Slicing, beside, shown string) string {
	return fmt.Sprintf(
		"slices: beside %s the performance is %.3f ± %.3f in slices of %v and %.3f ± %.3f in slices of %v: the effect of a pressure takes longer than a slice, and %s",
		beside, c.Short.Performance, c.Short.StandardError, short.Length, c.Long.Performance, c.Long.StandardError, short.Longer().Length, shown)
}
