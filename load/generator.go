package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bandmate.dev/bandmate/internal/monotonic"
)

var (
	// ErrFailing is wrapped where requests fail.
	ErrFailing = errors.New("requests fail")
	// ErrBehind is wrapped where the service, or the generator, did not keep up with
	// the intended rate.
	ErrBehind = errors.New("the intended rate was not reached")
)

// The range of latencies in nanoseconds, and how precisely they are kept.
const (
	shortestLatency = 1_000
	longestLatency  = 100_000_000_000
	latencyDigits   = 3
)

// mostWaiting is how many requests may wait for a connection: more are a load above
// saturation.
const mostWaiting = 1 << 16

// Options configure the load.
type Options struct {
	// Rate is the mean of arrivals per second; 0 makes a closed loop, where each
	// connection sends its next request when the last is answered.
	Rate float64
	// Connections is the number of requests that may be under way at a time; 0 means
	// 64. Further ones wait, and their latency counts.
	Connections int
	// Seed makes the arrivals random.
	Seed uint64
}

// Load is a running load generator. Its methods may be called concurrently.
type Load struct {
	target  *Target
	options Options
	clock   monotonic.Clock
	queue   chan time.Duration
	cancel  context.CancelFunc
	done    sync.WaitGroup
	answers atomic.Int64
	failed  atomic.Int64
	// pending counts the requests that have arrived and have neither been answered nor
	// failed.
	pending atomic.Int64
	// open is true while requests arrive.
	open atomic.Bool

	mu    sync.Mutex
	taken time.Duration
	err   error
	// failure is the first one.
	failure  error
	latency  *hdrhistogram.Histogram
	lag      *hdrhistogram.Histogram
	arrivals int64
	// replies and failures are the answers and the failed requests since the last Take,
	// whenever the requests arrived.
	replies, failures int64
	behind            bool
}

// Start starts a load that lasts until it is closed or the context ends.
func (t *Target) Start(ctx context.Context, o Options) *Load {
	if o.Connections == 0 {
		o.Connections = 64
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{
		target: t, options: o, cancel: cancel, queue: make(chan time.Duration, mostWaiting),
		latency: newHistogram(), lag: newHistogram(),
	}
	l.taken = l.clock.Now()
	l.open.Store(true)
	for i := range o.Connections {
		l.done.Go(func() { l.work(ctx, rand.New(rand.NewPCG(o.Seed, uint64(i)+1))) })
	}
	if o.Rate > 0 {
		l.done.Go(func() { l.arrive(ctx, rand.New(rand.NewPCG(o.Seed, 0))) })
	}
	return l
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(shortestLatency, longestLatency, latencyDigits)
}

// Close ends the load.
func (l *Load) Close() {
	l.cancel()
	l.done.Wait()
}

// Open starts or stops the arrival of requests. It does not affect a closed loop.
func (l *Load) Open(open bool) { l.open.Store(open) }

// Answers returns how many requests were answered since the start.
func (l *Load) Answers() int64 { return l.answers.Load() }

// Err returns why the load has ended; nil while it runs.
func (l *Load) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

const (
	// arrivalNap bounds a sleep, so that the end of the load is noticed.
	arrivalNap = 20 * time.Millisecond
	nanos      = float64(time.Second)
)

// arrive puts the arrivals of a Poisson process into the queue.
func (l *Load) arrive(ctx context.Context, random *rand.Rand) {
	// A thread of its own wakes up sooner than a timer of the Go runtime.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	next := l.clock.Now()
	for ctx.Err() == nil {
		now := l.clock.Now()
		if !l.open.Load() {
			next = now
			l.clock.Sleep(time.Millisecond)
			continue
		}
		if next > now {
			l.clock.Sleep(min(next-now, arrivalNap))
			continue
		}
		select {
		case l.queue <- next:
			l.pending.Add(1)
			l.arrived(now - next)
		default:
			l.mu.Lock()
			l.behind = true
			l.mu.Unlock()
			l.clock.Sleep(time.Millisecond)
			continue
		}
		next += time.Duration(random.ExpFloat64() / l.options.Rate * nanos)
	}
}

func (l *Load) arrived(lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivals++
	record(l.lag, lag)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// Values outside the range are brought into it, so that none is refused.
	_ = h.RecordValue(min(max(d.Nanoseconds(), shortestLatency), longestLatency))
}

// work sends requests over a connection, one after the other.
func (l *Load) work(ctx context.Context, random *rand.Rand) {
	var c *conn
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	for ctx.Err() == nil {
		var intended time.Duration
		if l.options.Rate > 0 {
			select {
			case <-ctx.Done():
				return
			case intended = <-l.queue:
			}
		} else {
			if !l.open.Load() {
				time.Sleep(time.Millisecond)
				continue
			}
			intended = l.clock.Now()
		}
		var err error
		c, err = l.serve(ctx, c, random)
		enough := false
		if err == nil {
			l.answered(intended)
		} else if ctx.Err() == nil {
			enough = l.fail(err)
		}
		if l.options.Rate > 0 {
			l.pending.Add(-1) // after the request is counted: Finish waits for 0
		}
		if enough {
			return
		}
	}
}

// serve makes one request over c, which is opened where it is nil, and returns the
// connection for the next one; nil where it has to be reopened. A server may close a
// connection while it is idle, just as the request is sent: it is sent again, over a new
// one (RFC 9112, section 9.3.1).
func (l *Load) serve(ctx context.Context, c *conn, random *rand.Rand) (*conn, error) {
	if c == nil {
		var err error
		if c, err = l.target.connect(ctx); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	kept := c.used
	reusable, err := l.target.exchange(c, random)
	if stop() && reusable {
		return c, err
	}
	_ = c.Close()
	if err != nil && kept && c.silent && ctx.Err() == nil {
		return l.serve(ctx, nil, random)
	}
	return nil, err
}

// answered counts an answer to a request that was intended to start at a time. Requests
// from before the last Take add no latency: the fast ones among them are answered already.
func (l *Load) answered(intended time.Duration) {
	now := l.clock.Now()
	l.answers.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replies++
	if intended >= l.taken {
		record(l.latency, now-intended)
	}
}

const (
	// fewFailures are tolerated, and mostFailures of the answers.
	fewFailures  = 10
	mostFailures = 0.01
	// failurePause limits the rate of requests to a service that is gone.
	failurePause = 5 * time.Millisecond
)

// fail counts a failure, and reports whether there are too many to continue.
func (l *Load) fail(err error) bool {
	n := l.failed.Add(1)
	l.mu.Lock()
	l.failures++
	if l.failure == nil {
		l.failure = err
	}
	tooMany := n > fewFailures && float64(n) > mostFailures*float64(l.answers.Load())
	if tooMany && l.err == nil {
		l.err = fmt.Errorf("%w: %d of %d, first: %w", ErrFailing, n, n+l.answers.Load(), l.failure)
	}
	l.mu.Unlock()
	if tooMany {
		l.cancel()
		return true
	}
	time.Sleep(failurePause)
	return false
}

// Result summarizes the answers to a load in an interval of time.
type Result struct {
	Elapsed time.Duration
	// Answers is how many requests were answered in it, and Failed how many failed.
	Answers, Failed int64
	// Failure is why the first request since the start of the load failed; nil where none
	// did.
	Failure error
	// Latency holds the latencies, in nanoseconds from the intended start, of the
	// requests that arrived in it and were answered.
	Latency *hdrhistogram.Histogram
	// Lag is the 99th percentile of how late the generator itself was.
	Lag time.Duration
}

// Rate returns the answers per second.
func (r *Result) Rate() float64 { return float64(r.Answers) / r.Elapsed.Seconds() }

// Quantile returns a latency, q from 0 to 1. Requests that failed count as slower than all
// answers; it is the slowest answer where they reach the quantile.
func (r *Result) Quantile(q float64) time.Duration {
	return Quantile(r.Latency, r.Failed, q)
}

// Quantile is Result.Quantile of latencies, in nanoseconds, beside so many requests that
// failed.
func Quantile(latencies *hdrhistogram.Histogram, failed int64, q float64) time.Duration {
	const percent = 100
	if answers := latencies.TotalCount(); failed > 0 && answers > 0 {
		q = min(q*float64(answers+failed)/float64(answers), 1)
	}
	return time.Duration(latencies.ValueAtQuantile(percent * q))
}

// Take returns what was met since the last Take, or since the start. The error wraps
// ErrFailing, or ErrBehind where more requests wait than a service that keeps up leaves.
func (l *Load) Take() (*Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take()
}

// take is Take with l.mu held.
func (l *Load) take() (*Result, error) {
	now := l.clock.Now()
	r := &Result{
		Elapsed: now - l.taken, Answers: l.replies, Failed: l.failures, Failure: l.failure, Latency: l.latency,
		Lag: time.Duration(l.lag.ValueAtQuantile(99)),
	}
	arrivals, behind := l.arrivals, l.behind
	l.taken, l.latency, l.lag, l.arrivals, l.replies, l.failures, l.behind = now, newHistogram(), newHistogram(), 0, 0, 0, false
	if l.err != nil {
		return r, l.err
	}
	return r, l.keptUp(r, arrivals, behind)
}

// Finish ends the arrivals and returns what Take does, but with the latencies of the
// requests that are under way, the slowest among them: it waits for their answers. The
// error wraps ErrBehind also where some are not answered within patience.
func (l *Load) Finish(ctx context.Context, patience time.Duration) (*Result, error) {
	l.Open(false)
	l.mu.Lock()
	begin := l.taken
	r, err := l.take()
	// Those under way belong to what was taken.
	l.taken, l.latency = begin, r.Latency
	l.mu.Unlock()
	for end := l.clock.Now(); l.pending.Load() > 0 && l.Err() == nil && ctx.Err() == nil && l.clock.Now()-end < patience; {
		l.clock.Sleep(time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = newHistogram()
	r.Failed, r.Failure, l.failures = r.Failed+l.failures, l.failure, 0
	switch left := l.pending.Load(); {
	case l.err != nil:
		return r, l.err
	case err == nil && left > 0:
		err = fmt.Errorf("%w: %d requests were not answered within %v", ErrBehind, left, patience)
	}
	return r, err
}

const (
	// waitingShare of the arrivals of a stretch of time may be unanswered at its end
	// beyond those that the connections carry: a service that keeps up has a queue
	// that does not grow.
	waitingShare = 0.05
)

// keptUp returns an error where the answers do not follow the arrivals, or the arrivals
// the intended rate.
func (l *Load) keptUp(r *Result, arrivals int64, behind bool) error {
	if l.options.Rate == 0 {
		return nil
	}
	intended := l.options.Rate * r.Elapsed.Seconds()
	waiting := float64(arrivals-r.Answers) - float64(l.options.Connections)
	switch {
	case behind, waiting > waitingShare*intended:
		return fmt.Errorf("%w: %.6g requests per second arrived, %.6g were answered: the load is above saturation, or other programs hold the CPUs", ErrBehind, l.options.Rate, r.Rate())
	case float64(arrivals) < leastArrived*intended-sureDeviations*math.Sqrt(intended):
		return fmt.Errorf("%w: the load generator made %d of %.0f requests, and was %v late: it lacks CPU time: repeat the measurement on a quieter machine", ErrBehind, arrivals, intended, r.Lag)
	}
	return nil
}

const (
	// leastArrived is the least share of the intended requests that a generator sends
	// if it keeps up, apart from chance.
	leastArrived = 0.9
	// sureDeviations is the number of standard deviations that chance rarely exceeds.
	sureDeviations = 4
)
