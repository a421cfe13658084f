package onboard

import (
	"context"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/onboard/sampling"
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
func (t *ticked) check(ctx context.Context, e *estimator) (string, error) {
	strongest, _ := t.strongest(e) // the profile has curves by now
	by, _ := e.result(t.Application.Name, strongest.String())
	lowest := float64(by.NormalizedPerformance)
	t.tell(0.92, t.Application.Name+" beside "+strongest.String()+", a whole run")
	var ratios []float64
	for begin := time.Now(); len(ratios) < mostChecks; {
		pressed, err := t.stage.Session.runUnder(ctx, t.Application.Command, strongest.Settings())
		if err != nil {
			return "", err
		}
		alone, err := t.stage.Session.runSolo(ctx, t.Application)
		if err != nil {
			return "", err
		}
		t.solo = append(t.solo, alone.Wall.Seconds())
		ratios = append(ratios, alone.Wall.Seconds()/pressed.Wall.Seconds())
		if len(ratios) >= fewestChecks && math.Abs(lowest-stats.Median(ratios)) <= checkLimit(spread(ratios), len(ratios), by) {
			return "", nil
		}
		if time.Since(begin) > checkPatience {
			break
		}
	}
	whole, limit := stats.Median(ratios), checkLimit(pooledSpread(ratios), len(ratios), by)
	if math.Abs(lowest-whole) <= limit {
		return "", nil
	}
	text := fmt.Sprintf("beside %s the ticks tell a performance of %.2f, and %d pairs of whole runs %.2f: more than %.2f apart", strongest, lowest, len(ratios), whole, limit)
	if t.Ticking.Source == nil {
		return "", fmt.Errorf("%w: %s", ErrNoTicks, text)
	}
	return text, nil
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
