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
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/service"
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
	latencies []*hdrhistogram.Histogram
	p99       []float64
	lag       []float64
	cpu       []float64
	// failed is how many requests failed, and failure why one did.
	failed  int64
	failure error
	// seconds is how long a visit was measured.
	seconds float64
	// behind is why the rate was not reached the last time, of so many times.
	behind error
	missed int
}

// sweep measures the latencies alone at loads below the saturation.
func (t *serving) sweep(ctx context.Context, saturation float64) error {
	visits := make([]visited, len(sweepShares))
	for pass := range sweepPasses {
		for n, i := range t.Random.Perm(len(sweepShares)) {
			share := float64(pass*len(sweepShares)+n) / float64(sweepPasses*len(sweepShares))
			t.tell(0.25+0.3*share, fmt.Sprintf("%s alone at %.0f%% of its saturation", t.Name, 100*sweepShares[i]))
			if err := t.visit(ctx, &visits[i], sweepShares[i]*saturation); err != nil {
				return err
			}
		}
	}
	for i, v := range visits {
		rate := sweepShares[i] * saturation
		if stalled, highest, ok := v.dropStalled(); ok {
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: at %.6g requests per second p99 was %.3g ms in one visit, which is left out, and at most %.3g ms in the others: the machine or the server stalled; to see whether the server does so by itself, onboard it with --load-time 20s", rate, 1e3*stalled, 1e3*highest))
		}
		answers := v.answers()
		switch {
		case v.unreached():
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: %.0f%% of the saturation is left out: %v", 100*sweepShares[i], v.behind))
			continue
		case v.failedMost():
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: %.6g requests per second are left out: %d of %d requests failed, which leaves no p99: %v", rate, v.failed, v.failed+answers, v.failure))
			continue
		case answers < fewestRequests:
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: %.6g requests per second are left out: %d answers do not tell a p99: raise --load-time", rate, answers))
			continue
		}
		if v.failed > 0 {
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: at %.6g requests per second %d of %d requests failed, and count as the slowest: %v", rate, v.failed, v.failed+answers, v.failure))
		}
		l := v.load(rate, saturation)
		if late := stats.Median(v.lag); late > lateShare*l.P99Seconds {
			t.warnings = append(t.warnings, fmt.Sprintf("load sweep: at %.6g requests per second the load generator was late by %.2g ms, which p99 contains", rate, 1e3*late))
		}
		t.service.Loads = append(t.service.Loads, l)
	}
	if len(t.service.Loads) == 0 {
		return nothingKept(visits)
	}
	return nil
}

// failedMost reports whether so many requests failed that p99 is not of an answer.
func (v *visited) failedMost() bool {
	const beyond = 0.01 // of the requests are slower than p99
	return v.failed > 0 && float64(v.failed) >= beyond*float64(v.answers()+v.failed)
}

// unreached reports whether the rate was missed in half of the visits or more.
func (v *visited) unreached() bool { return 2*v.missed >= sweepPasses }

// nothingKept returns why no load of a sweep was kept.
func nothingKept(visits []visited) error {
	for _, v := range visits {
		if v.unreached() {
			return fmt.Errorf("%w: no load of the sweep was reached: repeat the measurement on a quieter machine: %w", ErrService, v.behind)
		}
	}
	for _, v := range visits {
		if v.failedMost() {
			return fmt.Errorf("%w: at every load of the sweep too many requests failed to tell a p99: %w", ErrService, v.failure)
		}
	}
	return fmt.Errorf("%w: no load of the sweep had the %d answers that tell a p99: raise --load-time", ErrService, fewestRequests)
}

const (
	// slowestAnswer is how long the last requests of a visit are waited for.
	slowestAnswer = 10 * time.Second
	// enoughRequests is how many requests a visit should last for, within the load time.
	enoughRequests = 1000
	// A visit discards settleRelaxations relaxation times and then measures for
	// visitRelaxations. A relaxation time counts as longestRelaxation at most.
	settleRelaxations, visitRelaxations = 3, 20
	longestRelaxation                   = time.Second
)

// visitTimes returns how long a visit of a load settles and how long it is measured, so
// that all visits of the load together last for loadTime at least.
func visitTimes(rate, saturation float64, loadTime time.Duration) (settle, measured time.Duration) {
	relaxed := time.Duration(min(service.Relaxation(rate, saturation), longestRelaxation.Seconds()) * float64(time.Second))
	some := time.Duration(enoughRequests / rate * float64(time.Second))
	return max(settleTime, settleRelaxations*relaxed), max(loadTime/sweepPasses, min(some, loadTime), visitRelaxations*relaxed)
}

// visit adds one visit of a load.
func (t *serving) visit(ctx context.Context, v *visited, rate float64) error {
	l := t.Target.Start(ctx, load.Options{Rate: rate, Connections: t.Connections, Seed: t.Random.Uint64()})
	defer l.Close()
	settle, d := visitTimes(rate, t.service.SaturationRequestsPerSecond, cmp.Or(t.LoadTime, defaultLoadTime))
	bench.Pause(ctx, settle)
	if _, err := l.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
		return err
	}
	if err := t.meter.Refresh(); err != nil {
		return err
	}
	before, begin, _ := t.meter.Read()
	bench.Pause(ctx, d)
	after, end, _ := t.meter.Read()
	r, err := l.Finish(ctx, slowestAnswer)
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
	if v.failed += r.Failed; r.Failed > 0 {
		v.failure = r.Failure
	}
	v.seconds = d.Seconds()
	v.latencies = append(v.latencies, r.Latency)
	v.p99 = append(v.p99, r.Quantile(0.99).Seconds())
	v.lag = append(v.lag, r.Lag.Seconds())
	v.cpu = append(v.cpu, (after-before)/(end-begin).Seconds())
	return nil
}

// stall is the ratio of a visit's p99 to that of all others from which a stall of the
// server or the machine explains it, and no queue.
const stall = 4

// dropStalled leaves out the visit whose p99 is far above that of all others, and returns
// its p99 and the highest of the others.
func (v *visited) dropStalled() (p99, highest float64, ok bool) {
	const fewest = 3
	if len(v.p99) < fewest {
		return 0, 0, false
	}
	order := slices.Sorted(slices.Values(v.p99))
	p99, highest = order[len(order)-1], order[len(order)-2]
	if p99 < stall*highest {
		return 0, 0, false
	}
	at := slices.Index(v.p99, p99)
	v.latencies, v.p99 = slices.Delete(v.latencies, at, at+1), slices.Delete(v.p99, at, at+1)
	v.lag, v.cpu = slices.Delete(v.lag, at, at+1), slices.Delete(v.cpu, at, at+1)
	return p99, highest, true
}

// answers is how many latencies were measured.
func (v *visited) answers() (n int64) {
	for _, h := range v.latencies {
		n += h.TotalCount()
	}
	return n
}

// load returns the entry of the sweep for the visits of a load.
func (v *visited) load(rate, saturation float64) v1alpha1.ServiceLoad {
	all := v.latencies[0]
	for _, h := range v.latencies[1:] {
		all.Merge(h)
	}
	at := func(percent float64) float64 {
		return load.Quantile(all, v.failed, percent/100).Seconds()
	}
	quantiles := []float64{at(50), at(90), at(99), at(99.9)}
	slices.Sort(quantiles)
	l := v1alpha1.ServiceLoad{
		RequestsPerSecond: rate, P50Seconds: quantiles[0], P90Seconds: quantiles[1], P99Seconds: quantiles[2], P999Seconds: quantiles[3],
		Requests: int(all.TotalCount()), CPUSecondsPerSecond: stats.Median(v.cpu),
	}
	if sd := stats.Spread(v.p99); sd != nil {
		n := float64(len(v.p99))
		relative := max(*sd/math.Sqrt(n)/l.P99Seconds, service.QueueSpread(rate, saturation, n*v.seconds))
		l.P99RelativeSpread = &relative
	}
	return l
}
