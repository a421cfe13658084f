package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/regime"
)

const (
	// checkTolerance is how many standard errors whole runs may differ by.
	checkTolerance = 4
	// leastCheckError keeps a standard error of whole runs that is small by luck
	// from failing a check.
	leastCheckError = 0.02
	// wholeRunNoise is the standard deviation of pairs of whole runs on a virtual
	// machine.
	wholeRunNoise = 0.1
	// fewestChecks and mostChecks bound the pairs of whole runs of a check. Pairs
	// that agree with the ticks end it; others are joined by more of them within
	// checkPatience, which is short beside the whole runs that a refusal costs.
	fewestChecks, mostChecks = 2, 6
	checkPatience            = 30 * time.Second
)

// check compares the strongest pressure with whole runs. It returns a warning;
// empty where they agree. ErrNoTicks is wrapped where they contradict each other,
// as where a program that spins while it waits is counted by its instructions.
//
// While CPUs move, a whole run is of several placements. It agrees where it lies between
// what the ticks tell in these, and does not refuse the ticks.
func (t *ticked) check(ctx context.Context, outcome *modulation.Outcome, class regime.Class) (string, error) {
	strongest, _ := t.strongest(&estimator{readings: outcome.Readings[class], session: t.Stage.Session}) // the profile has curves by now
	by := t.ticksTell(outcome, strongest)
	own := by[class].NormalizedPerformance
	t.tell(checking, 0, t.Application.Name+" beside "+strongest.String()+", a whole run")
	most, mixed := mostChecks, moved(outcome, class)
	if mixed {
		most = fewestChecks // more would not refuse the ticks
	}
	var ratios []float64
	for begin := time.Now(); len(ratios) < most; {
		pressed, err := t.Stage.Session.RunUnprobed(ctx, t.Application.Command, strongest.Settings())
		if errors.Is(err, sampling.ErrStarved) {
			if time.Since(begin) <= checkPatience {
				continue
			}
			if len(ratios) == 0 {
				return fmt.Sprintf("the ticks were not checked against whole runs: %v", err), nil
			}
			break
		}
		if err != nil {
			return "", err
		}
		alone, err := runSolo(ctx, t.Stage.Session, t.Application)
		if err != nil {
			return "", err
		}
		t.solo = append(t.solo, alone.Wall.Seconds())
		ratios = append(ratios, alone.Wall.Seconds()/pressed.Wall.Seconds())
		if len(ratios) >= fewestChecks && agrees(stats.Median(ratios), spread(ratios), len(ratios), by) {
			return "", nil
		}
		if time.Since(begin) > checkPatience {
			break
		}
	}
	whole, sd := stats.Median(ratios), pooledSpread(ratios)
	if agrees(whole, sd, len(ratios), by) {
		return "", nil
	}
	text := fmt.Sprintf("beside %s the ticks tell a performance of %.2f, and %d pairs of whole runs %.2f: more than %.2f apart",
		strongest, float64(own), len(ratios), whole, checkLimit(sd, len(ratios), by[class]))
	if mixed {
		return text + "; the CPUs moved, and a whole run mixes their placements", nil
	}
	if t.Ticking.Source == nil {
		return "", fmt.Errorf("%w: %s", bench.ErrNoTicks, text)
	}
	return text, nil
}

// ticksTell returns the performance beside a pressure by class, where it was measured.
func (t *ticked) ticksTell(outcome *modulation.Outcome, p pressure.Measured) map[regime.Class]sampling.Result {
	by := map[regime.Class]sampling.Result{}
	for class, readings := range outcome.Readings {
		e := &estimator{readings: readings, session: t.Stage.Session}
		if r, ok := e.result(t.Application.Name, p.String()); ok {
			by[class] = r
		}
	}
	return by
}

// agrees reports whether the median of n ratios of whole runs with a standard deviation of
// sd is what ticks tell, or lies between what they tell in different placements.
func agrees(whole, sd float64, n int, by map[regime.Class]sampling.Result) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range by {
		limit := checkLimit(sd, n, r)
		low, high = min(low, float64(r.NormalizedPerformance)-limit), max(high, float64(r.NormalizedPerformance)+limit)
	}
	return low <= whole && whole <= high
}

// movedShare is the share of probes in other placements from which whole runs are of
// several.
const movedShare = 0.1

// moved reports whether the CPUs were often in another placement.
func moved(o *modulation.Outcome, class regime.Class) bool {
	all := 0
	for _, probes := range o.RoundTrips {
		all += len(probes)
	}
	return float64(all-len(o.RoundTrips[class])) > movedShare*float64(all)
}

// checkLimit returns how far the median of n ratios of whole runs with a standard
// deviation of sd may differ from a result by ticks.
func checkLimit(sd float64, n int, by sampling.Result) float64 {
	return checkTolerance * math.Hypot(max(sd/math.Sqrt(float64(n)), leastCheckError), by.StandardError)
}

// spread returns the standard deviation of ratios; of one, that of a virtual machine.
func spread(ratios []float64) float64 {
	if sd := stats.Spread(ratios); sd != nil {
		return *sd
	}
	return wholeRunNoise
}

// pooledSpread is spread with wholeRunNoise as one more observation: a few ratios
// that lie close together by luck refuse nothing.
func pooledSpread(ratios []float64) float64 {
	n := float64(len(ratios))
	return math.Sqrt((wholeRunNoise*wholeRunNoise + (n-1)*spread(ratios)*spread(ratios)) / n)
}
