package service_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// queue is a simulated service: Poisson arrivals, k servers, first come first served.
type queue struct {
	servers int
	// times returns a service time alone, in seconds.
	times func(*rand.Rand) float64
	// fixed is added to each latency, and does not stretch.
	fixed float64
}

// idle holds the moments at which servers become idle.
type idle []float64

func (h idle) Len() int           { return len(h) }
func (h idle) Less(i, j int) bool { return h[i] < h[j] }
func (h idle) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *idle) Push(x any)        { *h = append(*h, x.(float64)) } //nolint:forcetypeassert // as heap calls it
func (h *idle) Pop() any          { panic("unused") }

// latencies are counts of latencies in buckets, each a thousandth longer than the one
// before.
type latencies struct {
	counts [20_000]int
	total  int
}

const (
	shortestLatency = 1e-6
	bucketGrowth    = 1e-3
)

func (l *latencies) add(seconds float64) {
	l.counts[max(int(math.Log(seconds/shortestLatency)/bucketGrowth), 0)]++
	l.total++
}

func (l *latencies) quantile(q float64) float64 {
	left := int(q * float64(l.total))
	for i, n := range l.counts {
		if left -= n; left < 0 {
			return shortestLatency * math.Exp(bucketGrowth*(float64(i)+0.5))
		}
	}
	return math.Inf(1)
}

// run simulates n requests at a load where contention stretches service times by s.
func (q queue) run(load, s float64, n int, seed uint64) *latencies {
	random := rand.New(rand.NewPCG(seed, 0))
	free := make(idle, q.servers)
	heap.Init(&free)
	all := &latencies{}
	now := 0.0
	for i := range n + n/10 {
		now += random.ExpFloat64() / load
		done := max(now, free[0]) + s*q.times(random)
		free[0] = done
		heap.Fix(&free, 0)
		if i >= n/10 {
			all.add(done - now + q.fixed)
		}
	}
	return all
}

// sweep measures the queue alone, as onboarding does.
func (q queue) sweep(saturation float64, n int) *v1alpha1.Service {
	s := &v1alpha1.Service{SaturationRequestsPerSecond: saturation}
	for i, share := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} {
		l := q.run(share*saturation, 1, n, uint64(i))
		s.Loads = append(s.Loads, v1alpha1.ServiceLoad{
			RequestsPerSecond: share * saturation, Requests: n,
			P50Seconds: l.quantile(0.5), P90Seconds: l.quantile(0.9), P99Seconds: l.quantile(0.99), P999Seconds: l.quantile(0.999),
		})
	}
	return s
}

func constant(s float64) func(float64) (service.Factor, error) {
	return func(float64) (service.Factor, error) {
		return service.Factor{Slowdown: units.Slowdown(s), Low: units.Slowdown(s), High: units.Slowdown(s)}, nil
	}
}

const requests = 400_000

var queues = map[string]struct {
	queue
	saturation float64
}{
	"M/M/1":   {queue{servers: 1, times: func(r *rand.Rand) float64 { return 1e-4 * r.ExpFloat64() }}, 1e4},
	"M/D/1":   {queue{servers: 1, times: func(*rand.Rand) float64 { return 1e-4 }}, 1e4},
	"M/G/1":   {queue{servers: 1, times: func(r *rand.Rand) float64 { return 5e-5 + 5e-5*r.ExpFloat64() }}, 1e4},
	"M/G/4":   {queue{servers: 4, times: func(r *rand.Rand) float64 { return 5e-5 + 5e-5*r.ExpFloat64() }}, 4e4},
	"stalled": {queue{servers: 1, times: stalled}, 1 / (1e-4 + 0.01*1e-3)},
}

// stalled is the service time of a server that stalls for a millisecond in every
// hundredth request.
func stalled(r *rand.Rand) float64 {
	t := 1e-4 * (0.5 + r.Float64())
	if r.Float64() < 0.01 {
		t += 1e-3
	}
	return t
}

// The truth is exact: a queue whose service times are all stretched alike.
func TestP99OfSimulatedQueues(t *testing.T) {
	for name, q := range queues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			measured := q.sweep(q.saturation, requests)
			worst := 0.0
			for _, s := range []float64{1.08, 1.6} {
				for _, share := range []float64{0.25, 0.55, 0.76} { // of the saturation beside
					load := share * q.saturation / s
					a, err := service.Beside(measured, load, constant(s))
					if err != nil || a.P99BesideSeconds == nil {
						t.Fatalf("s %v, load %v: %v %v", s, load, err, a.Warnings)
					}
					truth := q.run(load, s, 2*requests, 77).quantile(0.99)
					off := *a.P99BesideSeconds/truth - 1
					worst = max(worst, math.Abs(off))
					if math.Abs(off) > 0.03 {
						t.Errorf("s %v at %v of the saturation: p99 %.4g s, truth %.4g s: %+.1f%% off", s, share, *a.P99BesideSeconds, truth, 100*off)
					}
					if want := q.saturation / s; math.Abs(a.SaturationBeside/want-1) > 1e-6 {
						t.Errorf("saturation %v, want %v", a.SaturationBeside, want)
					}
				}
			}
			t.Logf("%s: at most %.1f%% off", name, 100*worst)
		})
	}
}

// p99 of M/M/1 is ln 100 ÷ (μ - λ): what is left is the error of interpolation.
func TestInterpolationAgainstTheFormula(t *testing.T) {
	const mu = 1e4
	s := &v1alpha1.Service{SaturationRequestsPerSecond: mu}
	p99 := func(load float64) float64 { return math.Log(100) / (mu - load) }
	for _, share := range []float64{0.1, 0.4, 0.7, 0.9} {
		s.Loads = append(s.Loads, v1alpha1.ServiceLoad{RequestsPerSecond: share * mu, P99Seconds: p99(share * mu)})
	}
	c, err := service.New(s)
	if err != nil {
		t.Fatal(err)
	}
	for share := 0.1; share < 0.985; share += 0.01 {
		got, _, extrapolated, err := c.P99(share * mu)
		if err != nil || math.Abs(got/p99(share*mu)-1) > 1e-9 || share < 0.899 && extrapolated || share > 0.901 && !extrapolated {
			t.Fatalf("at %.2f: %v, want %v; extrapolated %t; %v", share, got, p99(share*mu), extrapolated, err)
		}
	}
}

// A part of the latency that does not stretch, as of a network, is overestimated by no
// more than the package says: that part times s - 1.
func TestWhatDoesNotStretch(t *testing.T) {
	q := queue{servers: 1, times: func(r *rand.Rand) float64 { return 1e-4 * r.ExpFloat64() }, fixed: 5e-4}
	const saturation, s, load = 1e4, 1.4, 4000.0
	a, err := service.Beside(q.sweep(saturation, requests/5), load, constant(s))
	if err != nil {
		t.Fatal(err)
	}
	truth := q.run(load, s, requests, 77).quantile(0.99)
	over := *a.P99BesideSeconds - truth
	if most := q.fixed * (s - 1); over < 0.5*most || over > 1.5*most {
		t.Errorf("overestimated by %.3g s, want about %.3g s", over, most)
	}
}
