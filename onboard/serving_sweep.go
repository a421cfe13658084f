package onboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/load"
)

// sweepShares are the loads of a sweep, as shares of the saturation.
var sweepShares = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

const (
	// sweepPasses is how many times each load is visited, in random order: what the
	// machine does in between then spreads over all of them, and shows in the spread.
	sweepPasses = 4
	// defaultLoadTime is that of each load in all passes.
	defaultLoadTime = 2 * time.Second
	// settleTime is left out at the beginning of each visit.
	settleTime = 100 * time.Millisecond
	// fewestRequests is how many answers tell a p99.
	fewestRequests = 300
	// lateShare is the share of the p99 from which the delay of the load generator is
	// worth a warning.
	lateShare = 0.3
)

// visited is what the visits of a load met.
type visited struct {
	latency *hdrhistogram.Histogram
	p99     []float64
	lag     []float64
	cpu     []float64
	answers int64
	// behind is why the rate was not reached the last time, of so many times.
	behind error
	missed int
}

// sweep measures the latencies alone at loads below the saturation.
func (t *serving) sweep(ctx context.Context, saturation float64) error {
	visits := make([]visited, len(sweepShares))
	each := cmp.Or(t.LoadTime, defaultLoadTime) / sweepPasses
	for pass := range sweepPasses {
		for n, i := range t.Random.Perm(len(sweepShares)) {
			share := float64(pass*len(sweepShares)+n) / float64(sweepPasses*len(sweepShares))
			t.tell(0.25+0.3*share, fmt.Sprintf("%s alone at %.0f%% of its saturation", t.Name, 100*sweepShares[i]))
			if err := t.visit(ctx, &visits[i], sweepShares[i]*saturation, each); err != nil {
				return err
			}
		}
	}
	for i, v := range visits {
		rate := sweepShares[i] * saturation
		switch {
		case 2*v.missed >= sweepPasses:
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: %.0f%% of the saturation is left out: %v", 100*sweepShares[i], v.behind))
			continue
		case v.answers < fewestRequests:
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: %.6g requests per second are left out: %d answers do not tell a p99: raise --load-time", rate, v.answers))
			continue
		}
		l := v.load(rate)
		if late := stats.Median(v.lag); late > lateShare*l.P99Seconds {
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: at %.6g requests per second the load generator was late by %.2g ms, which p99 contains", rate, 1e3*late))
		}
		t.service.Loads = append(t.service.Loads, l)
	}
	if len(t.service.Loads) == 0 {
		return fmt.Errorf("%w: no load of the sweep was reached: repeat the measurement on a quieter machine: %w", ErrService, errors.Join(behind(visits)...))
	}
	return nil
}

func behind(visits []visited) []error {
	var all []error
	for _, v := range visits {
		all = append(all, v.behind)
	}
	return all[:min(len(all), 1)]
}

// visit adds one visit of a load.
func (t *serving) visit(ctx context.Context, v *visited, rate float64, d time.Duration) error {
	l := t.Target.Start(ctx, load.Options{Rate: rate, Connections: t.Connections, Seed: t.Random.Uint64()})
	defer l.Close()
	pause(ctx, settleTime)
	if _, err := l.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	if err := t.meter.refresh(); err != nil {
		return err
	}
	before, begin, _ := t.meter.Read()
	pause(ctx, d)
	after, end, _ := t.meter.Read()
	r, err := l.Take()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, load.ErrBehind) {
		// Other programs may have held the CPUs for a moment: a load above saturation
		// is not reached the other times either.
		v.behind = err
		v.missed++
		return nil
	}
	if err != nil {
		return err
	}
	if v.latency == nil {
		v.latency = r.Latency
	} else {
		v.latency.Merge(r.Latency)
	}
	v.answers += r.Answers
	v.p99 = append(v.p99, r.Quantile(0.99).Seconds())
	v.lag = append(v.lag, r.Lag.Seconds())
	v.cpu = append(v.cpu, (after-before)/(end-begin).Seconds())
	return nil
}

// load returns the entry of the sweep for the visits of a load.
func (v *visited) load(rate float64) v1alpha1.ServiceLoad {
	at := func(percent float64) float64 {
		return time.Duration(v.latency.ValueAtQuantile(percent)).Seconds()
	}
	quantiles := []float64{at(50), at(90), at(99), at(99.9)}
	slices.Sort(quantiles)
	l := v1alpha1.ServiceLoad{
		RequestsPerSecond: rate, P50Seconds: quantiles[0], P90Seconds: quantiles[1], P99Seconds: quantiles[2], P999Seconds: quantiles[3],
		Requests: int(v.answers), CPUSecondsPerSecond: stats.Median(v.cpu),
	}
	if sd := stats.Spread(v.p99); sd != nil {
		relative := *sd / math.Sqrt(float64(len(v.p99))) / l.P99Seconds
		l.P99RelativeSpread = &relative
	}
	return l
}
