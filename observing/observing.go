// Package observing measures what running programs cost another running program,
// by pausing each for some milliseconds now and then.
//
// A neighbor is paused for one slice between two in which it runs, and the rate of
// the target's ticks within the pause is compared with the rate around it. It is
// paused for at most 2% of its time. The same without a pause is the control,
// which has to find that nothing changed.
//
// [Observer] knows neither processes nor counters, so that it runs against a
// simulated machine; [Open], [Busy] and [Command] find them on this one.
package observing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/ticks"
)

// MostPaused is the largest share of its time for which a neighbor is paused.
const MostPaused = 0.02

const (
	// fewestBlocks are taken of each neighbor before its interval counts.
	fewestBlocks = 10
	// precise is the half width of an interval that needs no more blocks.
	precise = 0.01
	// mostInVisit bounds the pauses that follow each other.
	mostInVisit = 4
	// mostLost bounds the blocks that are lost in a row.
	mostLost = 30
	// stalledToLengthen is how many stalled blocks in a row make slices twice as long, up to
	// longestSlice: where others hold the target's CPUs for longer than a slice, it makes no
	// progress within one.
	stalledToLengthen = 10
	// nap bounds the time until the end of the context is seen.
	nap = 20 * time.Millisecond
	// longestSlice bounds how long a neighbor is paused.
	longestSlice = 40 * time.Millisecond
	// patience is how many times its length a slice may take until the count has
	// grown twice.
	patience = 2
	// grace bounds the time for which an observation continues without pauses.
	grace = 4 * time.Second
	// pauseCost is by how much a pause may be longer than its slice.
	pauseCost = time.Millisecond
	// Longest is longer than any regular pause.
	Longest = 90 * time.Millisecond
)

// ErrStandsStill is wrapped when the count of the target does not grow within
// slices.
var ErrStandsStill = errors.New("its progress cannot be measured within milliseconds")

// Pauser pauses a neighbor and continues it; a [pausing.Group] is one.
type Pauser interface {
	// Pause returns when nothing of the neighbor runs.
	Pause() error
	// Continue undoes Pause.
	Continue() error
	// Close continues the neighbor and gives it up.
	Close() error
}

// Neighbor is a program that may slow the target down.
type Neighbor struct {
	// Name is for messages.
	Name string
	// Open takes control of the program. It is called again after each Close.
	Open func() (Pauser, error)
}

// Finding is how much a neighbor slows the target down.
type Finding struct {
	// Estimate is the target's performance beside the neighbor ÷ without it; its
	// Readings are 0 when nothing was measured.
	Estimate modulation.Estimate
	// PausedShare is the share of the time for which the neighbor was paused.
	PausedShare float64
	// Lost counts the pauses that gave no reading, and Fault says why the last of them gave
	// none.
	Lost  int
	Fault error
	// Err says why no more was measured; nil while all is well.
	Err error
}

// Result is what was observed.
type Result struct {
	// Findings are in the order of the neighbors.
	Findings []Finding
	// Control is the estimate for no change at all.
	Control modulation.Estimate
	// Ended says that the target ended during the observation.
	Ended   bool
	Elapsed time.Duration
}

// Observer observes a target beside its neighbors.
type Observer struct {
	Clock  modulation.Clock
	Random *rand.Rand
	// Target counts the work of the target.
	Target    *Counting
	Neighbors []Neighbor
	// Duration bounds the observation. It ends before when every interval is
	// within a point.
	Duration time.Duration
	// Report receives the share of the time that has passed, 0 to 1; it may be nil.
	Report func(done float64)
}

// observation is a run of an Observer.
type observation struct {
	*Observer
	slicing modulation.Slicing
	begin   time.Duration
	all     []*observed
	// held is the neighbor whose pauser is open; nil for none.
	held    *observed
	pauser  Pauser
	visit   int
	control []modulation.Reading
	// stalled counts the blocks in a row in which the target made no progress.
	stalled int
}

// observed is what is known of a neighbor so far.
type observed struct {
	*Neighbor
	readings []modulation.Reading
	paused   time.Duration
	// longest is the longest pause so far, or what one may last.
	longest time.Duration
	// jitter is added to the gap before the next pause, so that pauses do not
	// synchronize with the target.
	jitter     time.Duration
	lost       int
	fault      error
	lostInRow  int
	summarized int
	precise    bool
	err        error
}

// Run observes. It leaves nothing paused. The error is the context's, or wraps that of
// the target's counter or [ErrStandsStill]. Errors of a neighbor are in its finding.
func (o *Observer) Run(ctx context.Context) (result *Result, err error) {
	slicing, err := modulation.SlicingFor(o.Target.Steps)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStandsStill, err)
	}
	slicing.Length = min(slicing.Length, longestSlice)
	r := &observation{Observer: o, slicing: slicing, begin: o.Clock.Now()}
	for i := range o.Neighbors {
		n := &observed{Neighbor: &o.Neighbors[i]}
		r.all = append(r.all, n)
		r.plan(n)
	}
	defer func() { err = errors.Join(err, r.release()) }()
	ended := false
	for !r.done() {
		err := r.step(ctx)
		if ended = errors.Is(err, ticks.ErrEnded); ended {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return r.result(ended), nil
}

func (r *observation) elapsed() time.Duration { return r.Clock.Now() - r.begin }

// over reports whether the time is over or nothing is left to learn.
func (r *observation) over() bool {
	return r.elapsed() >= r.Duration || !slices.ContainsFunc(r.all, (*observed).wanted)
}

// done reports whether the observation is complete, including the time without pauses
// that compensates for last pauses that took longer than planned.
func (r *observation) done() bool {
	if r.Report != nil {
		r.Report(min(r.elapsed().Seconds()/r.Duration.Seconds(), 1))
	}
	overdrawn := slices.ContainsFunc(r.all, func(n *observed) bool { return n.paused.Seconds() > MostPaused*r.elapsed().Seconds() })
	return r.over() && !(overdrawn && r.elapsed() < r.Duration+grace)
}

// wanted reports whether more has to be learned of a neighbor.
func (n *observed) wanted() bool { return n.err == nil && !n.precise }

// plan says when a neighbor may be paused again.
func (r *observation) plan(n *observed) {
	gap := r.slicing.Length.Seconds() / MostPaused
	n.jitter = time.Duration(0.4 * r.Random.Float64() * gap * float64(time.Second))
}

// due returns when a neighbor may be paused for the next time. Even a pause as long
// as any before then does not bring it beyond the share that it may be paused for.
func (r *observation) due(n *observed) time.Duration {
	cost := max(r.slicing.Length+pauseCost, n.longest)
	return time.Duration(float64(n.paused+cost)/MostPaused) + n.jitter
}

// step takes one block, or passes time.
func (r *observation) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.over() {
		r.Clock.Sleep(nap)
		return nil
	}
	next := r.next()
	now := r.elapsed()
	switch {
	case r.due(next) <= now:
		return r.observe(ctx, next)
	case len(r.control) <= r.mostReadings() && now+4*r.slicing.Length < r.due(next):
		return r.observeControl(ctx)
	}
	r.Clock.Sleep(min(r.due(next)-now, nap, max(r.Duration-now, 0)))
	return nil
}

// next returns the neighbor that is paused next: the one that is held if it may be
// paused again, otherwise the one that is due, with the fewest readings, and
// otherwise the one that will be due.
func (r *observation) next() *observed {
	now := r.elapsed()
	if r.held != nil && r.held.wanted() && r.due(r.held) <= now && r.visit < mostInVisit {
		return r.held
	}
	var wanted []*observed
	for _, n := range r.all {
		if n.wanted() {
			wanted = append(wanted, n)
		}
	}
	return slices.MinFunc(wanted, func(a, b *observed) int {
		aDue, bDue := max(r.due(a)-now, 0), max(r.due(b)-now, 0)
		return cmp.Or(cmp.Compare(aDue, bDue), cmp.Compare(len(a.readings), len(b.readings)))
	})
}

func (r *observation) mostReadings() int {
	most := 0
	for _, n := range r.all {
		most = max(most, len(n.readings))
	}
	return most
}

// hold opens the pauser of a neighbor, after that of another was closed.
func (r *observation) hold(n *observed) error {
	if r.held == n {
		return nil
	}
	if err := r.release(); err != nil {
		return err
	}
	p, err := n.Open()
	if err != nil {
		return err
	}
	r.held, r.pauser, r.visit = n, p, 0
	return nil
}

// release closes the pauser that is held.
func (r *observation) release() error {
	if r.held == nil {
		return nil
	}
	err := r.pauser.Close()
	r.held, r.pauser = nil, nil
	return err
}

// The states of the parties: the target always works.
const (
	apart    modulation.State = 1
	together modulation.State = 3
)

// observe pauses a neighbor once.
func (r *observation) observe(ctx context.Context, n *observed) error {
	if err := r.hold(n); err != nil {
		n.err = err
		return nil //nolint:nilerr // the neighbor's fault is kept with it; the others go on
	}
	r.visit++
	party := &neighbor{clock: r.Clock, pauser: r.pauser}
	block, err := r.bench(party).Around(ctx, together, apart)
	n.paused += party.spent
	n.longest = max(n.longest, party.spent)
	r.plan(n)
	if err == nil {
		n.lostInRow, r.stalled = 0, 0
		n.readings = append(n.readings, r.reading(block))
		r.judge(n)
		return nil
	}
	n.lost, n.fault = n.lost+1, err
	var failure *pauseError
	switch {
	case !errors.As(err, &failure):
		return r.targetFailed(err)
	case errors.Is(err, pausing.ErrTooLong) && n.lostInRow < mostLost:
		n.lostInRow++
	default:
		n.err = failure.error
		return r.release()
	}
	return nil
}

// observeControl takes a block in which nothing changes.
func (r *observation) observeControl(ctx context.Context) error {
	block, err := r.bench(nil).Around(ctx, apart, apart)
	if err != nil {
		return r.targetFailed(err)
	}
	r.stalled = 0
	r.control = append(r.control, r.reading(block))
	return nil
}

// targetFailed returns the error that ends the observation, nil for a block that
// is only lost.
func (r *observation) targetFailed(err error) error {
	if !errors.Is(err, modulation.ErrStalled) {
		return err
	}
	if r.stalled++; r.stalled == stalledToLengthen && r.slicing.Length < longestSlice {
		r.slicing.Length, r.stalled = min(2*r.slicing.Length, longestSlice), 0
		for _, n := range r.all {
			// Pauses, too, last until the target gets on.
			n.longest = max(n.longest, r.slicing.Settle+patience*r.slicing.Length+pauseCost)
		}
	}
	if r.stalled > mostLost {
		return fmt.Errorf("%w: %d times in a row: %w", ErrStandsStill, r.stalled, err)
	}
	return nil
}

func (r *observation) bench(n *neighbor) *modulation.Bench {
	b := &modulation.Bench{Clock: r.Clock, Random: r.Random, Slicing: r.slicing, Patience: patience, Parties: []modulation.Party{
		&target{clock: r.Clock, counting: r.Target},
	}}
	if n != nil {
		b.Parties = append(b.Parties, n)
	}
	return b
}

// reading returns that of a block with the neighbor around its pause.
func (r *observation) reading(b *modulation.Block) modulation.Reading {
	beside, _ := b.LogRatio(0, 0, 1)
	alone := b.LogRates[1][0]
	return modulation.Reading{Log: beside, Position: b.Counts[0], Alone: math.Exp(alone), Beside: math.Exp(alone + beside)}
}

// judge checks from time to time whether a neighbor is known precisely enough.
func (r *observation) judge(n *observed) {
	const every = 5
	if len(n.readings) < max(fewestBlocks, n.summarized+every) {
		return
	}
	n.summarized = len(n.readings)
	e := modulation.Summarize(n.readings, r.Random)
	n.precise = (1/e.Low-1/e.High)/2 <= precise
}

func (r *observation) result(ended bool) *Result {
	result := &Result{Ended: ended, Elapsed: r.elapsed()}
	if len(r.control) > 0 {
		result.Control = modulation.Summarize(r.control, r.Random)
	}
	for _, n := range r.all {
		f := Finding{PausedShare: n.paused.Seconds() / result.Elapsed.Seconds(), Lost: n.lost, Fault: n.fault, Err: n.err}
		if len(n.readings) > 0 {
			f.Estimate = modulation.Summarize(n.readings, r.Random)
		}
		result.Findings = append(result.Findings, f)
	}
	return result
}
