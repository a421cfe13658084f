package ticks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Candidate is a source that was tried on a running program.
type Candidate struct {
	Source Source
	// Rate is in ticks per second.
	Rate float64
	// Variation is the standard deviation of the rate in windows of
	// [Discovery.Window], as a part of the rate.
	Variation float64
	// Windows is how many windows Variation is of.
	Windows int
}

// Discovery is a search for what counts the work of a program. Its zero value is
// what [Discover] uses.
type Discovery struct {
	// Limit bounds the search; 0 for two seconds.
	Limit time.Duration
	// Window is the time in which rates are compared; 0 for ten milliseconds.
	Window time.Duration
	// LeastRate and MostRate are the useful rates of ticks, per second; 0 for 150,
	// and for what costs the program 2% by [CallCost], at most 20,000. A function
	// that is called more often is let go. MostRate does not bound sources that cost
	// nothing.
	LeastRate, MostRate float64
}

// Start starts the program whose ticks are looked for, and returns its first
// process and what ends it.
type Start func(ctx context.Context) (pid int, stop func(), err error)

// ErrNothingCounts is wrapped when nothing of a program can be counted at a useful
// rate.
var ErrNothingCounts = errors.New("nothing of this program counts its work at a useful rate")

// Discover tries instructions, input and output, and the functions that the
// program imports or that lie in its executable, while it runs, and returns those
// that count at a useful rate, the steadiest first. A program that ends is started
// again. What is steady need not be work: hold it to whole runs before it is
// relied on.
func Discover(ctx context.Context, start Start) ([]Candidate, error) {
	return Discovery{}.Run(ctx, start)
}

func (d Discovery) withDefaults() Discovery {
	d.Limit = cmp.Or(d.Limit, 2*time.Second)
	d.Window = cmp.Or(d.Window, 10*time.Millisecond)
	d.LeastRate = cmp.Or(d.LeastRate, 150)
	if d.MostRate == 0 {
		d.MostRate = 20_000
		if cost, err := CallCost(); err == nil {
			d.MostRate = min(d.MostRate, mostOverhead/cost.Seconds())
		}
	}
	return d
}

// search is a Discovery under way.
type search struct {
	Discovery
	start Start
	pid   int
	stop  func()
	until time.Time
	// left are the starts that are still allowed.
	left int
	// opened are the counters that are still to be closed.
	opened []Counter
}

const (
	// mostOverhead is the part of the program's time that counting calls may take.
	mostOverhead = 0.02
	// mostStarts bounds how often a program that ends early is started again.
	mostStarts = 50
	// settling is the time in which a program loads its libraries.
	settling = 30 * time.Millisecond
)

// Run searches as [Discover] describes.
func (d Discovery) Run(ctx context.Context, start Start) ([]Candidate, error) {
	s := &search{Discovery: d.withDefaults(), start: start, stop: func() {}, left: mostStarts}
	s.until = time.Now().Add(s.Limit)
	defer func() { s.stop() }()
	defer s.letGo()
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	functions, err := s.scan(ctx)
	if err != nil {
		return nil, err
	}
	candidates := s.watch(ctx, append(s.open(free), functions...))
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	candidates = slices.DeleteFunc(candidates, func(c Candidate) bool { return !s.useful(c) })
	if len(candidates) == 0 {
		return nil, ErrNothingCounts
	}
	slices.SortStableFunc(candidates, steadier)
	return candidates, nil
}

// steadier orders candidates by their variation in steps of half a percent; alike
// ones by what costs nothing, then by their rate.
func steadier(a, b Candidate) int {
	const step = 0.005
	free := func(c Candidate) int {
		if isFree(c.Source) {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(math.Floor(a.Variation/step), math.Floor(b.Variation/step)),
		cmp.Compare(free(a), free(b)),
		cmp.Compare(b.Rate, a.Rate),
		cmp.Compare(a.Variation, b.Variation))
}

// ensure starts the program, again when it has ended.
func (s *search) ensure(ctx context.Context) error {
	if s.pid != 0 && isRunning(s.pid) {
		return nil
	}
	s.stop()
	s.stop = func() {}
	if s.left == 0 {
		return fmt.Errorf("the program ends too soon: %w", ErrNothingCounts)
	}
	s.left--
	pid, stop, err := s.start(ctx)
	if err != nil {
		return err
	}
	s.pid, s.stop = pid, stop
	time.Sleep(settling)
	return nil
}

func isFree(s Source) bool {
	_, isFunction := s.(Function)
	return !isFunction
}

// free are sources that cost nothing.
var free = []Source{Instructions{}, IO{BytesRead}, IO{ReadCalls}, IO{BytesWritten}, IO{WriteCalls}}

func (s *search) useful(c Candidate) bool {
	return c.Windows >= fewestWindows && c.Rate >= s.LeastRate && (c.Rate <= s.MostRate || isFree(c.Source)) && !math.IsNaN(c.Variation)
}

const (
	// fewestWindows are needed to say something about steadiness.
	fewestWindows = 8
	// windows are those that a source is watched for at most.
	windows = 40
)

// watched is an open source with its rates.
type watched struct {
	source  Source
	counter Counter
	pid     int
	last    float64
	at      time.Time
	rates   []float64
}

// open opens what can be opened.
func (s *search) open(sources []Source) []*watched {
	var opened []*watched
	for _, source := range sources {
		run, err := source.Prepare()
		if err != nil {
			continue
		}
		if counter, err := run.Open(s.pid); err == nil {
			opened = append(opened, s.add(source, counter))
		}
	}
	return opened
}

func (s *search) add(source Source, counter Counter) *watched {
	s.opened = append(s.opened, counter)
	w := &watched{source: source, counter: counter, pid: s.pid, at: time.Now()}
	w.last, _ = counter.Read() // a counter that fails shows it when it is sampled
	return w
}

// letGo closes what was opened, in the background: to remove a uprobe the kernel
// waits for some tenths of a second, during which nothing is counted any more.
func (s *search) letGo() {
	opened := s.opened
	s.opened = nil
	go func() {
		for _, counter := range opened {
			_ = counter.Close()
		}
	}()
}

// sample adds a rate; it reports false when there is nothing more to read.
func (w *watched) sample() bool {
	n, err := w.counter.Read()
	if err != nil {
		return false
	}
	now := time.Now()
	if spent := now.Sub(w.at).Seconds(); spent > 0 {
		w.rates = append(w.rates, (n-w.last)/spent)
	}
	w.last, w.at = n, now
	return true
}

// restart forgets the rates.
func (w *watched) restart() {
	if w.sample() {
		w.rates = w.rates[:0]
	}
}

// watch watches sources together, window by window, in further runs of the
// program when it ends.
func (s *search) watch(ctx context.Context, sources []*watched) []Candidate {
	for _, w := range sources {
		w.restart()
	}
	open := sources
	for n := 0; n < windows && ctx.Err() == nil && (n < fewestWindows || time.Now().Before(s.until)); n++ {
		time.Sleep(s.Window)
		open = slices.DeleteFunc(slices.Clone(open), func(w *watched) bool { return !w.sample() })
		if len(open) > 0 {
			continue
		}
		if s.ensure(ctx) != nil {
			break
		}
		open = slices.DeleteFunc(slices.Clone(sources), func(w *watched) bool { return !s.reopen(w) })
		if len(open) == 0 {
			break
		}
	}
	var found []Candidate
	for _, w := range sources {
		rate, variation := spread(w.rates)
		found = append(found, Candidate{Source: w.source, Rate: rate, Variation: variation, Windows: len(w.rates)})
	}
	return found
}

// reopen opens a source in the present run of the program, unless it is. It
// reports false when that fails.
func (s *search) reopen(w *watched) bool {
	if w.pid == s.pid {
		return true
	}
	for _, opened := range s.open([]Source{w.source}) {
		opened.rates = w.rates
		*w = *opened
		return true
	}
	return false
}

// spread returns the mean and the standard deviation as a part of it.
func spread(rates []float64) (mean, variation float64) {
	if len(rates) < 2 {
		return 0, math.NaN()
	}
	for _, r := range rates {
		mean += r / float64(len(rates))
	}
	squares := 0.0
	for _, r := range rates {
		squares += (r - mean) * (r - mean)
	}
	return mean, math.Sqrt(squares/float64(len(rates)-1)) / mean
}
