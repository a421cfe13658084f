package ticks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/internal/stats"
)

// Candidate is a source that was tried on a running program.
type Candidate struct {
	Source Source
	// Steps is how many times per second the count grew, by whatever.
	Steps float64
	// Variation is the standard deviation of the rate of ticks between neighboring
	// windows, as a part of the rate. A window lasts from step to step, for four
	// milliseconds and ten steps at least.
	Variation float64
	// Windows is how many windows Variation is of.
	Windows int
	// Noise is the standard error, as a part, that the variation would leave in a
	// rate that was measured for a second.
	Noise float64
}

// Discovery is a search for what counts the work of a program. Its zero value is
// what [Discover] uses.
type Discovery struct {
	// Limit bounds the search; 0 for three seconds.
	Limit time.Duration
	// LeastRate and MostRate are the useful rates of steps, per second; 0 for 60, and
	// for what costs the program 2% by [CallCost], at most 20,000. A function that is
	// called more often is let go. MostRate does not bound sources that cost nothing.
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
// that count at a useful rate, those that promise the least noise first. A program
// that ends is started again. What is steady need not be work: hold it to whole runs
// before it is relied on.
func Discover(ctx context.Context, start Start) ([]Candidate, error) {
	return Discovery{}.Run(ctx, start)
}

func (d Discovery) withDefaults() Discovery {
	d.Limit = cmp.Or(d.Limit, 3*time.Second)
	d.LeastRate = cmp.Or(d.LeastRate, 60)
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
	// opened is what is still to be closed.
	opened []interface{ close() error }
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
	if _, err := s.ensure(ctx); err != nil {
		return nil, err
	}
	functions, err := s.scan(ctx)
	if err != nil {
		return nil, err
	}
	sources := functions
	for _, source := range free {
		sources = append(sources, &watched{source: source})
	}
	candidates := s.watch(ctx, sources)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	candidates = slices.DeleteFunc(candidates, func(c Candidate) bool { return !s.useful(c) })
	if len(candidates) == 0 {
		return nil, ErrNothingCounts
	}
	slices.SortStableFunc(candidates, quieter)
	return candidates, nil
}

// quieter orders candidates by their noise in steps of a quarter; alike ones by what
// costs nothing.
func quieter(a, b Candidate) int {
	step := func(c Candidate) float64 { return math.Floor(math.Log(max(c.Noise, leastNoise)) / math.Log(1.25)) }
	return cmp.Or(
		cmp.Compare(step(a), step(b)),
		compareBools(!isFree(a.Source), !isFree(b.Source)),
		cmp.Compare(a.Noise, b.Noise))
}

// leastNoise is too little to matter.
const leastNoise = 1e-4

// ensure starts the program, again when it has ended. It reports whether it did.
func (s *search) ensure(ctx context.Context) (started bool, err error) {
	if s.pid != 0 && isRunning(s.pid) {
		return false, nil
	}
	s.stop()
	s.stop = func() {}
	if s.left == 0 {
		return false, fmt.Errorf("the program ends too soon: %w", ErrNothingCounts)
	}
	s.left--
	pid, stop, err := s.start(ctx)
	if err != nil {
		return false, err
	}
	s.pid, s.stop = pid, stop
	time.Sleep(settling)
	return true, nil
}

func isFree(s Source) bool {
	_, isFunction := s.(Function)
	return !isFunction
}

// free are sources that cost nothing.
var free = []Source{Instructions{}, IO{BytesRead}, IO{ReadCalls}, IO{BytesWritten}, IO{WriteCalls}}

func (s *search) useful(c Candidate) bool {
	return c.Windows >= fewestWindows && c.Steps >= s.LeastRate && (c.Steps <= s.MostRate || isFree(c.Source)) && !math.IsNaN(c.Variation)
}

const (
	// shortestWindow is the shortest time in which rates are compared, and fewestSteps how
	// many steps of a count it holds at least.
	shortestWindow = 4 * time.Millisecond
	fewestSteps    = 10
	// fewestWindows are needed to say something about steadiness.
	fewestWindows = 8
	// watching is how long sources are watched for, while the program runs, and again
	// where none is useful. watchPatience is how long that may take.
	watching, watchPatience = 1200 * time.Millisecond, 4 * time.Second
	// watchPoll is how often counts are read, and longestPoll how long a poll may
	// have taken: a step after a longer one came at an unknown time.
	watchPoll, longestPoll = 300 * time.Microsecond, time.Millisecond
)

// step is a moment at which a count was seen to have grown.
type step struct {
	count float64
	at    time.Duration
}

// watched is an open source with the steps of its count, by runs of the program.
type watched struct {
	source  Source
	counter Counter
	pid     int
	last    float64
	at      time.Time
	runs    [][]step
	// seen is how often the count grew in the time for which it was watched.
	seen int
	time time.Duration
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
	s.opened = append(s.opened, closing{counter})
	w := &watched{source: source, counter: counter, pid: s.pid, at: time.Now()}
	w.last, _ = counter.Read() // a counter that fails shows it when it is sampled
	return w
}

// closing is a counter that is closed like a reader.
type closing struct{ Counter }

func (c closing) close() error { return c.Close() }

// letGo closes what was opened, in the background: to remove a uprobe the kernel
// waits for some tenths of a second, during which nothing is counted any more.
func (s *search) letGo() {
	opened := s.opened
	s.opened = nil
	go func() {
		for _, counter := range opened {
			_ = counter.close()
		}
	}()
}

// sample reads the count; it reports false when there is nothing more to read.
func (w *watched) sample() bool {
	n, err := w.counter.Read()
	if err != nil {
		return false
	}
	now := time.Now()
	spent := now.Sub(w.at)
	if w.time += spent; n > w.last {
		w.seen++
		if spent <= longestPoll && len(w.runs) > 0 {
			run := &w.runs[len(w.runs)-1]
			*run = append(*run, step{n, w.time})
		}
	}
	w.last, w.at = n, now
	return true
}

// begin begins to watch a run.
func (w *watched) begin() bool {
	_, ok := w.rate()
	w.runs = append(w.runs, nil)
	return ok
}

// rate returns the ticks per second since the last call, or since the source was
// opened.
func (w *watched) rate() (perSecond float64, ok bool) {
	n, err := w.counter.Read()
	now := time.Now()
	spent := now.Sub(w.at).Seconds()
	if err != nil || spent <= 0 {
		return 0, false
	}
	perSecond = (n - w.last) / spent
	w.last, w.at = n, now
	return perSecond, true
}

// watch watches sources together, in further runs of the program when it ends.
func (s *search) watch(ctx context.Context, sources []*watched) []Candidate {
	var open []*watched
	spent, wanted := time.Duration(0), watching
	for begin := time.Now(); ctx.Err() == nil && time.Since(begin) < watchPatience; {
		if spent >= wanted {
			if slices.ContainsFunc(sources, func(w *watched) bool { return s.useful(s.candidate(w)) }) {
				break
			}
			wanted += watching // the program may have had little of a busy CPU
		}
		if len(open) == 0 {
			if _, err := s.ensure(ctx); err != nil {
				break
			}
			// Nothing is open when the program ended meanwhile.
			open = s.begin(sources)
		}
		last := time.Now()
		monotonic.Clock{}.Sleep(watchPoll)
		open = slices.DeleteFunc(open, func(w *watched) bool { return !w.sample() })
		spent += time.Since(last)
	}
	var found []Candidate
	for _, w := range sources {
		found = append(found, s.candidate(w))
	}
	return found
}

// begin begins a run of sources, and returns those that can be read.
func (s *search) begin(sources []*watched) []*watched {
	open := slices.DeleteFunc(slices.Clone(sources), func(w *watched) bool { return !s.reopen(w) })
	return slices.DeleteFunc(open, func(w *watched) bool { return !w.begin() })
}

// candidate says what a source was like.
func (s *search) candidate(w *watched) Candidate {
	c := Candidate{Source: w.source, Variation: math.NaN()}
	if w.time <= 0 {
		return c
	}
	c.Steps = float64(w.seen) / w.time.Seconds()
	window := max(shortestWindow.Seconds(), fewestSteps/c.Steps)
	var apart []float64
	for _, run := range w.runs {
		rates := logRates(run, window)
		c.Windows += len(rates)
		for i := 1; i < len(rates); i++ {
			apart = append(apart, math.Abs(rates[i]-rates[i-1]))
		}
	}
	if len(apart) > 0 {
		// The differences of two have √2 times the standard deviation of one.
		c.Variation = normalMAD * stats.Median(apart) / math.Sqrt2
		c.Noise = c.Variation * math.Sqrt(window)
	}
	return c
}

// normalMAD is the standard deviation of a normal distribution ÷ its median
// absolute deviation.
const normalMAD = 1.4826

// logRates returns the logarithms of the rates in windows of a run, each from a step
// to another.
func logRates(run []step, window float64) []float64 {
	var rates []float64
	for i, from := 1, 0; i < len(run); i++ {
		spent := (run[i].at - run[from].at).Seconds()
		if spent < window {
			continue
		}
		rates = append(rates, math.Log((run[i].count-run[from].count)/spent))
		from = i
	}
	return rates
}

// reopen opens a source in the present run of the program, unless it is. It
// reports false when that fails.
func (s *search) reopen(w *watched) bool {
	if w.pid == s.pid {
		return true
	}
	for _, opened := range s.open([]Source{w.source}) {
		opened.runs, opened.seen, opened.time = w.runs, w.seen, w.time
		*w = *opened
		return true
	}
	return false
}
