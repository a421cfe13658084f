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
	// wholeRunNoise is the standard error of one pair of whole runs on a virtual
	// machine.
	wholeRunNoise = 0.1
	// fewestChecks and mostChecks bound the pairs of whole runs of a check; a
	// second pair is made only within checkPatience.
	fewestChecks, mostChecks = 2, 6
	checkPatience            = 8 * time.Second
)

// check compares the strongest pressure with whole runs. It returns a warning;
// empty where they agree. ErrNoTicks is wrapped where they contradict each other,
// as where a program that spins while it waits is counted by its instructions.
func (t *ticked) check(ctx context.Context, e *estimator) (string, error) {
	strongest := t.strongest(e)
	by, _ := e.result(t.Application.Name, strongest.String())
	lowest := float64(by.NormalizedPerformance)
	t.tell(0.92, t.Application.Name+" beside "+strongest.String()+", a whole run")
	var ratios []float64
	for begin := time.Now(); len(ratios) < mostChecks; {
		pressed, err := t.stage.Session.runUnder(ctx, t.Application.Command, strongest.settings())
		if err != nil {
			return "", err
		}
		alone, err := t.stage.Session.runSolo(ctx, t.Application)
		if err != nil {
			return "", err
		}
		t.solo = append(t.solo, alone.Wall.Seconds())
		ratios = append(ratios, alone.Wall.Seconds()/pressed.Wall.Seconds())
		if math.Abs(lowest-stats.Median(ratios)) <= t.checkLimit(ratios, by) && len(ratios) >= fewestChecks || time.Since(begin) > checkPatience {
			break
		}
	}
	whole, limit := stats.Median(ratios), t.checkLimit(ratios, by)
	if math.Abs(lowest-whole) <= limit {
		return "", nil
	}
	text := fmt.Sprintf("beside %s the ticks tell a performance of %.2f, and %d pairs of whole runs %.2f: more than %.2f apart", strongest, lowest, len(ratios), whole, limit)
	if t.Ticking.Source == nil {
		return "", fmt.Errorf("%w: %s", ErrNoTicks, text)
	}
	return text, nil
}

// checkLimit returns how far whole runs may differ from a result by ticks.
func (t *ticked) checkLimit(ratios []float64, by sampling.Result) float64 {
	whole := wholeRunNoise
	if sd := stats.Spread(ratios); sd != nil {
		whole = *sd / math.Sqrt(float64(len(ratios)))
	}
	return checkTolerance * math.Hypot(max(whole, leastCheckError), by.StandardError)
}
