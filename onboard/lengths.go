package onboard

import (
	"context"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/regime"
)

// slicesPerRun is the least number of slices of a run, if they are lengthened: three blocks.
const slicesPerRun = 12

// comparedBudget bounds the time for slices of one length.
const comparedBudget = 4 * time.Second

// lengthsOn says how slices of different lengths are compared.
func lengthsOn(g *bench.Stage, budget time.Duration) modulation.Lengths {
	return modulation.Lengths{Fewest: 12, Most: 48, Budget: budget, Run: g.Run}
}

// withoutSpeed returns a point of an application alone and beside a pressure, without the
// speed of the interferer.
func withoutSpeed(p modulation.Point) modulation.Point {
	p.States, p.Compare = p.States[:2], p.Compare[:1]
	return p
}

// choosing has a plan choose slices in which the pressures have all of their effect. A stream
// replaces what a cache holds within a millisecond; the application needs as long to fill it
// again as its own misses take, and in short slices it is never seen as fast as it is alone.
func (t *ticked) choosing(plan *modulation.Plan) {
	plan.Choosing = &modulation.Choosing{Longest: lastOf(t.solo) / slicesPerRun}
	most := 0.0
	for _, p := range t.experiment.Pressures {
		most = max(most, float64(p.Alone.Total()))
	}
	for i, p := range t.experiment.Pressures {
		plan.Points[i].Compare[0].Effect = float64(p.Alone.Total()) / most
	}
}

// compareLengths measures the strongest pressure once more in longer slices, while the
// parties are still there, unless the plan has seen the same in them, for a whole run.
func (t *ticked) compareLengths(ctx context.Context, u *underPressure) error {
	class := u.plan.Outcome.Complete(u.plan.Precision.Fewest)
	t.slicing = u.plan.Slicing(class)
	u.plan.Bench.Slicing = t.slicing
	if u.plan.Agreed(class) {
		return nil
	}
	p, ok := t.strongest(&estimator{readings: u.plan.Outcome.Readings[class], session: t.Stage.Session})
	if !ok {
		return nil
	}
	t.tell(comparing, 0, t.Application.Name+" beside "+p.String()+", in longer slices")
	slow, err := t.slow(ctx, u.plan, withoutSpeed(pressurePoint(t.Application.Name, p, u.second)), class, lengthsOn(t.Stage, comparedBudget))
	if slow != "" {
		t.warning = fmt.Sprintf("slices: beside %s %s; the curves show a part of it; --whole-runs measures all", p, slow)
	}
	return err
}

// slow says how the result of a point differs in longer slices than those of a plan that was
// carried out; empty where it does not, or that is not known.
func (t *ticked) slow(ctx context.Context, plan *modulation.Plan, point modulation.Point, class regime.Class, l modulation.Lengths) (string, error) {
	s := plan.Bench.Slicing
	c, ok, err := plan.CompareLonger(ctx, point, class, l)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.Application.Name, err)
	}
	if !ok || !c.Slow {
		return "", nil
	}
	return fmt.Sprintf("the performance is %.3f ± %.3f in slices of %v and %.3f ± %.3f in slices of %v: the effect of a pressure takes longer than a slice",
		c.Short.Performance, c.Short.StandardError, s.Length, c.Long.Performance, c.Long.StandardError, s.Longer().Length), nil
}
