package observing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/ticks"
)

// ErrNoTicks is wrapped when no count of a running program's progress is found.
var ErrNoTicks = errors.New("no count of its progress found")

// searchLimit bounds the search for what counts a running program, which may have
// to share its CPUs.
const searchLimit = 5 * time.Second

// Find returns the sources that may count the work of running processes, the best
// first: instructions where the machine counts them, otherwise those that count
// steadily. The error wraps ErrNoTicks, or ticks.ErrEnded.
func Find(ctx context.Context, pids []int) ([]ticks.Source, error) {
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process: %w", ticks.ErrEnded)
	}
	instructions := ticks.Instructions{}
	_, unavailable := instructions.Prepare()
	if unavailable == nil {
		return []ticks.Source{instructions}, nil
	}
	return discover(ctx, pids, unavailable)
}

// discover is Find where instructions are unavailable.
func discover(ctx context.Context, pids []int, unavailable error) ([]ticks.Source, error) {
	tried := 0
	var ended error
	search := ticks.Discovery{Limit: searchLimit, LeastRate: slowSteps}
	found, err := search.Run(ctx, func(context.Context) (int, func(), error) {
		if tried == len(pids) {
			ended = fmt.Errorf("process %d: %w", pids[tried-1], ticks.ErrEnded)
			return 0, nil, ended
		}
		tried++
		return pids[tried-1], func() {}, nil
	})
	if errors.Is(err, ticks.ErrNothingCounts) {
		if ended != nil {
			return nil, ended
		}
		pid := pids[tried-1]
		return nil, fmt.Errorf("process %d: %w: %w", pid, ErrNoTicks, nothingCounts(pid, unavailable))
	}
	if err != nil {
		return nil, err
	}
	var sources []ticks.Source
	for _, c := range found {
		sources = append(sources, c.Source)
	}
	return sources, nil
}

// nothingCounts says why nothing counts the work of a process where instructions are
// unavailable.
func nothingCounts(pid int, unavailable error) error {
	c, err := open(ticks.IO{Kind: ticks.BytesRead}, []int{pid})
	if errors.Is(err, os.ErrPermission) {
		return err
	}
	_ = c.discard() // what else fails says less
	return fmt.Errorf("it neither reads nor writes steadily nor calls a function that can be counted, and %w", unavailable)
}

// Counting is the count of a target's work.
type Counting struct {
	ticks.Counter
	// Name is that of the source.
	Name string
	// Steps is how often it grows, per second.
	Steps float64
	// Smooth says that it grows in steps far shorter than a slice.
	Smooth bool
}

const (
	// fastSteps per second resolve slices of some milliseconds, slowSteps the
	// longest ones.
	fastSteps, slowSteps = 260, 60
)

// Open counts running processes, with their descendants, by the first source that
// grows often enough, or else by the one that grows most often. The error wraps
// ErrNoTicks, ticks.ErrEnded or ticks.ErrUnavailable.
func Open(ctx context.Context, clock modulation.Clock, sources []ticks.Source, pids []int) (best *Counting, err error) {
	var faults []error
	for _, source := range sources {
		c, err := try(ctx, clock, source, pids)
		if errors.Is(err, ticks.ErrEnded) || ctx.Err() != nil {
			return nil, errors.Join(cmp.Or(err, ctx.Err()), best.discard(), c.discard())
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if best == nil || c.Steps > best.Steps {
			best, c = c, best
		}
		if err := c.discard(); err != nil {
			return nil, errors.Join(err, best.discard())
		}
		if best.Steps >= fastSteps {
			break
		}
	}
	if best == nil {
		return nil, errors.Join(faults...)
	}
	return best, nil
}

// discard closes a count that is not used; c may be nil.
func (c *Counting) discard() error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// try counts by one source, if it grows often enough.
func try(ctx context.Context, clock modulation.Clock, source ticks.Source, pids []int) (*Counting, error) {
	c, err := openUnless(ctx, source, pids)
	if err != nil {
		return nil, err
	}
	c.Steps, err = modulation.StepRate(ctx, clock, c.Read)
	switch {
	case err != nil:
	case c.Steps == 0:
		err = fmt.Errorf("%s: %w: the count stands still; is the program idle?", c.Name, ErrNoTicks)
	case c.Steps < slowSteps:
		err = fmt.Errorf("%s: %w: the count grows %.0f times a second: want %d times", c.Name, ErrNoTicks, c.Steps, slowSteps)
	default:
		return c, nil
	}
	return nil, errors.Join(err, c.Close())
}

// openUnless is open, but returns the error of a context that ends first: a source may wait
// for seconds, such as for the answer of a server.
func openUnless(ctx context.Context, source ticks.Source, pids []int) (*Counting, error) {
	var c *Counting
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		c, err = open(source, pids)
	}()
	select {
	case <-opened:
		return c, err
	case <-ctx.Done():
		go func() {
			<-opened
			_ = c.discard()
		}()
		return nil, ctx.Err()
	}
}

func open(source ticks.Source, pids []int) (*Counting, error) {
	all := &sum{}
	_, smooth := source.(ticks.Instructions)
	c := &Counting{Counter: all, Name: source.Name(), Smooth: smooth}
	for _, pid := range pids {
		run, err := source.Prepare()
		if err == nil && run.NeedsStart() {
			err = errors.Join(fmt.Errorf("%s: %w: the program has to be started with it", source.Name(), ticks.ErrUnavailable), run.Close())
		}
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		counter, err := run.Open(pid)
		if errors.Is(err, ticks.ErrEnded) && len(pids) > 1 {
			if err := run.Close(); err != nil {
				return nil, errors.Join(err, all.Close())
			}
			continue
		}
		if err != nil {
			return nil, errors.Join(err, run.Close(), all.Close())
		}
		all.parts = append(all.parts, &part{counter: counter, run: run})
		if !perProcess(source) {
			break
		}
	}
	return c, nil
}

// perProcess reports whether a source counts one process with its descendants,
// and not something outside it, such as a file.
func perProcess(source ticks.Source) bool {
	switch source.(type) {
	case ticks.File, ticks.Metric:
		return false
	}
	return true
}

// sum adds up the counts of several processes. One that has ended keeps its last
// count.
type sum struct{ parts []*part }

type part struct {
	counter ticks.Counter
	run     *ticks.Run
	last    float64
	ended   bool
}

func (s *sum) Read() (float64, error) {
	total, running := 0.0, 0
	err := fmt.Errorf("the target: %w", ticks.ErrEnded)
	for _, p := range s.parts {
		if !p.ended {
			n, failed := p.counter.Read()
			switch {
			case errors.Is(failed, ticks.ErrEnded):
				p.ended, err = true, failed
			case failed != nil:
				return 0, failed
			default:
				running++
			}
			p.last = max(p.last, n)
		}
		total += p.last
	}
	if running == 0 {
		return total, err
	}
	return total, nil
}

func (s *sum) Close() error {
	var err error
	for _, p := range s.parts {
		err = errors.Join(err, p.counter.Close(), p.run.Close())
	}
	return err
}
