package ticks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// pollEvery is the least time between two requests, restPerRequest how many times
	// longer than a request the server rests after it.
	pollEvery      = 3 * time.Millisecond
	restPerRequest = 19
	// restsInPatience bounds a rest: so many fit into the patience with the program.
	restsInPatience = 4
	// recentRequests are those by which a rest is as long as it is.
	recentRequests = 15
)

// open waits for the first count.
func (s Metric) open(pid int, wanted selector) (reader, error) {
	start, patience := 10*time.Second, time.Second
	if s.Patience > 0 {
		start, patience = s.Patience, s.Patience
	}
	p := newPoller(s.URL, wanted, patience, func() bool { return isStopped(pid) })
	p.unfollow = follow(p.look)
	first, cancel := context.WithTimeout(p.ctx, start)
	defer cancel()
	for begin := time.Now(); ; time.Sleep(pollEvery) {
		err := p.poll(first)
		if err == nil {
			go p.run()
			return p, nil
		}
		if time.Since(begin) >= start || !isRunning(pid) {
			close(p.done)
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), p.close())
		}
	}
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := process.Stat()
	return err == nil && (stat.State == "T" || stat.State == "t")
}

// poller asks for the metric again and again. The program may be stopped for any time.
type poller struct {
	url    string
	wanted selector
	// patience is how long the program may run without an answer.
	patience time.Duration
	// stopped reports whether the program is stopped now.
	stopped  func() bool
	unfollow func()
	client   *http.Client
	ctx      context.Context
	cancel   context.CancelFunc
	done     chan struct{}

	mu    sync.Mutex
	count float64
	err   error
	// unanswered is how long the program has run since the last answer.
	unanswered time.Duration
	// request is the one in flight.
	request request
	// recent are the durations of the last requests.
	recent []time.Duration
}

// request is a request in flight.
type request struct {
	giveUp context.CancelCauseFunc
	// waited is how long the program has run since its begin, and paused whether it was
	// stopped since.
	waited time.Duration
	paused bool
}

func newPoller(url string, wanted selector, patience time.Duration, stopped func() bool) *poller {
	p := &poller{
		url: url, wanted: wanted, patience: patience, stopped: stopped, unfollow: func() {}, done: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{Proxy: nil, DisableCompression: true}},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// look is called every 20 ms. It counts the time in which the program runs and does not
// answer.
func (p *poller) look() {
	stopped := p.stopped()
	p.mu.Lock()
	defer p.mu.Unlock()
	if stopped {
		p.request.paused = true
		return
	}
	p.unanswered += family
	p.request.waited += family
	if p.request.giveUp != nil && p.request.waited > p.patience {
		p.request.giveUp(fmt.Errorf("%s has not answered for %v", p.url, p.patience))
	}
}

func (p *poller) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		err := p.poll(p.ctx)
		p.mu.Lock()
		p.err = err
		rest := p.rest()
		p.mu.Unlock()
		select {
		case <-p.ctx.Done():
		case <-time.After(rest):
		}
	}
}

// rest is how long the server rests after a request. The shortest of recent ones tells best
// how long it works for one: others waited for its CPU, or until the program continued.
func (p *poller) rest() time.Duration {
	if len(p.recent) == 0 {
		return pollEvery
	}
	return max(pollEvery, min(restPerRequest*slices.Min(p.recent), p.patience/restsInPatience))
}

// poll asks once.
func (p *poller) poll(within context.Context) error {
	ctx, giveUp := context.WithCancelCause(within)
	defer giveUp(nil)
	p.mu.Lock()
	p.request = request{giveUp: giveUp}
	p.mu.Unlock()
	begin := time.Now()
	count, err := p.ask(ctx)
	took := time.Since(begin)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && !p.request.paused {
		p.recent = append(p.recent[max(0, len(p.recent)-recentRequests+1):], took)
	}
	p.request = request{}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	p.count, p.unanswered = count, 0
	return nil
}

// ask returns the count that the server tells.
func (p *poller) ask(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	response, err := p.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %s", p.url, response.Status)
	}
	count, err := p.wanted.read(io.LimitReader(response.Body, mostExposed))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.url, err)
	}
	return count, nil
}

func (p *poller) read() (float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(p.err, errNoSeries) || p.unanswered > p.patience {
		if p.err == nil {
			return 0, fmt.Errorf("%w: %s has not answered for %v", ErrLost, p.url, p.patience)
		}
		return 0, fmt.Errorf("%w: %w", ErrLost, p.err)
	}
	return p.count, nil
}

func (p *poller) close() error {
	p.cancel()
	<-p.done
	p.unfollow()
	p.client.CloseIdleConnections()
	return nil
}
