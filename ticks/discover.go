package ticks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	// LeastRate and MostRate are the useful rates of ticks, per second; 0 for 150
	// and 20,000. A function that is called more often is let go, as each call
	// costs the program about a microsecond. MostRate does not bound sources that
	// cost nothing.
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
func Discover(ctx context.Context, start Start) ([]Candidate, error) { return Discovery{}.Run(ctx, start) }

func (d Discovery) withDefaults() Discovery {
	d.Limit = cmp.Or(d.Limit, 2*time.Second)
	d.Window = cmp.Or(d.Window, 10*time.Millisecond)
	d.LeastRate = cmp.Or(d.LeastRate, 150)
	d.MostRate = cmp.Or(d.MostRate, 20_000)
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
}

// mostStarts bounds how often a program that ends early is started again.
const mostStarts = 50

// Run searches as [Discover] describes.
func (d Discovery) Run(ctx context.Context, start Start) ([]Candidate, error) {
	s := &search{Discovery: d.withDefaults(), start: start, stop: func() {}, left: mostStarts}
	s.until = time.Now().Add(s.Limit)
	defer func() { s.stop() }()
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	free := s.watch(ctx, s.freeSources())
	active, err := s.active(ctx)
	if err != nil {
		return nil, err
	}
	candidates := append(free, s.watch(ctx, active)...)
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
	return nil
}

func isFree(s Source) bool {
	_, isFunction := s.(Function)
	return !isFunction
}

func (s *search) freeSources() []Source {
	return []Source{Instructions{}, IO{BytesRead}, IO{ReadCalls}, IO{BytesWritten}, IO{WriteCalls}}
}

func (s *search) useful(c Candidate) bool {
	return c.Windows >= fewestWindows && c.Rate >= s.LeastRate && (c.Rate <= s.MostRate || isFree(c.Source)) && !math.IsNaN(c.Variation)
}

const (
	// fewestWindows are needed to say something about steadiness.
	fewestWindows = 8
	// windows are those that a source is watched for at most.
	windows = 40
	// together is how many functions are tried at the same time.
	together = 8
	// glance is how long a function is tried for at first.
	glance = 8 * time.Millisecond
	// shortlist is how many functions are watched for longer.
	shortlist = 6
)

// watched is an open source with its rates.
type watched struct {
	source  Source
	counter Counter
	close   func()
	last    float64
	at      time.Time
	rates   []float64
}

// open opens what can be opened, at the same time: each takes long, and little
// work.
func (s *search) open(sources []Source) []*watched {
	opened := make([]*watched, len(sources))
	var all sync.WaitGroup
	for i, source := range sources {
		all.Go(func() {
			run, err := source.Prepare()
			if err != nil {
				return
			}
			counter, err := run.Open(s.pid)
			if err != nil {
				_ = run.Close()
				return
			}
			w := &watched{source: source, counter: counter, close: func() { _, _ = counter.Close(), run.Close() }}
			if w.last, err = counter.Read(); err != nil {
				w.close()
				return
			}
			w.at = time.Now()
			opened[i] = w
		})
	}
	all.Wait()
	return slices.DeleteFunc(opened, func(w *watched) bool { return w == nil })
}

// closeAll closes sources at the same time, as removing one takes long, too.
func closeAll(list []*watched) {
	var all sync.WaitGroup
	for _, w := range list {
		all.Go(w.close)
	}
	all.Wait()
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

// watch watches sources together, window by window, and for half of the time that
// is left at most.
func (s *search) watch(ctx context.Context, sources []Source) []Candidate {
	if s.ensure(ctx) != nil {
		return nil
	}
	open := s.open(sources)
	for i := range open {
		open[i].restart()
	}
	end := time.Now().Add(time.Until(s.until) / 2)
	all := open
	for n := 0; n < windows && len(open) > 0 && ctx.Err() == nil && (n < fewestWindows || time.Now().Before(end)); n++ {
		time.Sleep(s.Window)
		open = slices.DeleteFunc(slices.Clone(open), func(w *watched) bool { return !w.sample() })
	}
	closeAll(all)
	var found []Candidate
	for _, w := range all {
		rate, variation := spread(w.rates)
		found = append(found, Candidate{Source: w.source, Rate: rate, Variation: variation, Windows: len(w.rates)})
	}
	return found
}

// restart begins counting now: another source may have been opened meanwhile.
func (w *watched) restart() {
	if w.sample() {
		w.rates = w.rates[:0]
	}
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

// active glances at functions, some at a time and in random order, and returns
// those that are called at a useful rate.
func (s *search) active(ctx context.Context) ([]Source, error) {
	functions, err := s.functions()
	if err != nil || len(functions) == 0 || tryUprobe() != nil {
		return nil, nil //nolint:nilerr // a program whose functions cannot be found may have other ticks
	}
	rand.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
	end := time.Now().Add(time.Until(s.until) / 2)
	type called struct {
		source Source
		rate   float64
	}
	var found []called
	for batch := range slices.Chunk(functions, together) {
		if ctx.Err() != nil || time.Now().After(end) {
			break
		}
		if err := s.ensure(ctx); err != nil {
			return nil, err
		}
		for _, w := range s.glance(batch) {
			if len(w.rates) > 0 && w.rates[0] >= s.LeastRate && w.rates[0] <= s.MostRate {
				found = append(found, called{w.source, w.rates[0]})
			}
		}
	}
	// What is called more often resolves shorter slices.
	slices.SortFunc(found, func(a, b called) int { return cmp.Compare(b.rate, a.rate) })
	var sources []Source
	for _, f := range found[:min(len(found), shortlist)] {
		sources = append(sources, f.source)
	}
	return sources, nil
}

// glance counts functions for some milliseconds. All are let go at once when one
// is called too often.
func (s *search) glance(batch []Source) []*watched {
	open := s.open(batch)
	for _, w := range open {
		w.restart()
	}
	const looks = 4
	for range looks {
		time.Sleep(glance / looks)
		if slices.ContainsFunc(open, func(w *watched) bool {
			n, err := w.counter.Read()
			return err == nil && n-w.last > s.MostRate*glance.Seconds()
		}) {
			break
		}
	}
	for _, w := range open {
		w.sample()
	}
	closeAll(open)
	return open
}

// functions lists the functions of the executable, and those of libraries that
// the executable or a library other than the C library imports.
func (s *search) functions() ([]Source, error) {
	used, err := modules(s.pid)
	if err != nil {
		return nil, err
	}
	tables := make([]*symbols, len(used))
	wanted := map[string]bool{}
	for i, m := range used {
		table, err := readSymbols(m.file)
		if err != nil {
			table = &symbols{}
		}
		tables[i] = table
		if i == 0 || !isSystem(m.path) {
			for name := range table.imported {
				wanted[name] = true
			}
		}
	}
	var found []Source
	for i, m := range used {
		for name := range tables[i].offsets {
			switch {
			case i == 0 && !isStartUp(name):
				found = append(found, Function{Symbol: name})
			case i > 0 && wanted[name]:
				found = append(found, Function{Library: filepath.Base(m.path), Symbol: name})
			}
		}
	}
	return found, nil
}

// isSystem reports whether a library belongs to the C library, which calls its
// own functions.
func isSystem(path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc([]string{"libc.", "libc-", "libm.", "libm-", "ld-", "libpthread", "libdl.", "librt."}, func(prefix string) bool {
		return strings.HasPrefix(base, prefix)
	})
}

// isStartUp reports whether a function runs only at the beginning or the end.
func isStartUp(name string) bool {
	return name == "main" || strings.HasPrefix(name, "_start") || strings.HasPrefix(name, "_init") || strings.HasPrefix(name, "_fini")
}
