package modulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bandmate.dev/bandmate/regime"
)

// Comparison is the ratio of a party's rates in two states.
type Comparison struct {
	// Name is unique within a plan.
	Name string
	// Party is the one whose rate counts.
	Party int
	// On is the index of the state beside the neighbor, Off that of the one to
	// compare with. Where both are the same, only the rate is learned.
	On, Off int
	// Per, unless it is nil, is the party by whose rate that of Party is divided:
	// work per its unit of work, such as requests per second of CPU time.
	Per *int
	// StandardError is what the performance is to reach; 0 means that of the
	// plan's precision.
	StandardError float64
	// Effect is about how much the neighbor does ÷ what the strongest does in the plan, 0
	// to 1. From 0.5 on, readings tell how long slices have to settle.
	Effect float64
}

// Point is what one block measures.
type Point struct {
	// States are visited in this order or in reverse, and then back. A state in which a
	// party is off should not stand next to one in which only that party works: until
	// then, the other party has emptied its cache.
	States []State
	// Compare lists what is learned.
	Compare []Comparison
	// Prepare sets what the parties will do when they work; nil for nothing. It
	// is called before each block, and in one that points share before each change of
	// states.
	Prepare func() error
	// Slicing of the blocks; the zero value means that of the plan's bench.
	Slicing Slicing
	// Share is how many readings the point is to have for each of another one, until both
	// are precise; 0 means 1.
	Share int
}

// Plan takes blocks of its points in random order until all are precise in one
// placement regime.
type Plan struct {
	Bench     *Bench
	Points    []Point
	Precision Precision
	// Probe tells the placement regime. It is called between groups of blocks.
	Probe func(context.Context) (regime.Tag, error)
	// Again is called when a party has ended: it starts that party again.
	Again func(context.Context) error
	// Class is the only regime that counts; empty for any. Run waits for it.
	Class regime.Class
	// Patience bounds each wait for Class; 0 means 20 s. MostWaited bounds all waits
	// together; 0 means that nothing does.
	Patience, MostWaited time.Duration
	// Budget is the time after which Run returns whatever the precision, if every
	// comparison has Least readings; 0 means none.
	Budget time.Duration
	Least  int
	// Whole reports whether the parties have run for long enough, whatever the
	// precision; nil when that does not matter.
	Whole func() bool
	// Report is called after each group with the share of the work that is done,
	// 0 to 1; may be nil.
	Report func(done float64)
	// Choosing finds out how long slices have to settle, by placement regime; nil has all
	// be as those of the bench.
	Choosing *Choosing
	// Sharing is how many points of two states may share the slices of the first of them
	// with another point, so that all take less time; 0 for none. All of these points
	// have the same first state.
	Sharing int

	// Outcome holds what was measured. It may come from an earlier plan with
	// comparisons of the same names; nil begins a new one.
	Outcome *Outcome

	checked map[[2]string]checked
	waited  time.Duration
	// groupLength is the time between two probes of the placement.
	groupLength time.Duration
}

// Outcome holds readings by placement regime and comparison.
type Outcome struct {
	// Readings is by class and name of the comparison.
	Readings map[regime.Class]map[string][]Reading
	// Blocks counts the blocks that the readings are from, by class.
	Blocks map[regime.Class]int
	// RoundTrips are those of the probes, by class.
	RoundTrips map[regime.Class][]float64
	// Dropped counts the blocks during which the regime changed, and Lost those
	// that ended early because a party ended or stalled.
	Dropped, Lost int
}

func newOutcome() *Outcome {
	return &Outcome{Readings: map[regime.Class]map[string][]Reading{}, RoundTrips: map[regime.Class][]float64{}}
}

const (
	// longestGroup is the time between two probes of the placement where it lasts. It
	// is halved when the placement did not last, down to a block, and becomes longer by
	// groupGrowth when it did.
	longestGroup = 80 * time.Millisecond
	groupGrowth  = 1.25
	// longestShared is the longest time of a block of several points ÷ that of a group.
	longestShared = 2
	// failuresToLengthen is how many blocks in a row are lost before slices are
	// made twice as long, if the last one stalled: where others hold the CPUs for
	// longer than a slice, no party may get on within one.
	failuresToLengthen = 10
	// longestStalled is the length from which slices are not made longer.
	longestStalled = 80 * time.Millisecond
)

// taken is a block of a point.
type taken struct {
	point *Point
	block *Block
}

// Run takes blocks until every comparison is precise in one regime, or the
// budget is spent. It leaves no party working. The error is the context's, that of
// a party, a probe or Again, ErrEnded where a party ended and Again is nil,
// ErrStalled where a party makes no progress, or ErrRegimeLeft.
func (p *Plan) Run(ctx context.Context) (err error) {
	p.Precision = p.Precision.WithDefaults()
	p.checked = map[[2]string]checked{}
	p.groupLength = longestGroup
	if p.Choosing != nil && p.Choosing.first == (Slicing{}) {
		p.Choosing.first = p.Bench.Slicing
	}
	if p.Outcome == nil {
		p.Outcome = newOutcome()
	}
	defer func() {
		p.finish()
		err = errors.Join(err, p.Bench.Set(0))
	}()
	begin := p.Bench.Clock.Now()
	before, err := p.probe(ctx)
	if err != nil {
		return err
	}
	for failures := (streak{}); ; {
		if p.Class != "" && before.Class != p.Class {
			if before, err = p.await(ctx); err != nil {
				return err
			}
		}
		class := before.Class
		pending := p.pending(class)
		precise := len(pending) == 0
		spent := p.Bench.Clock.Now() - begin
		if p.Report != nil {
			p.Report(p.done(class, spent))
		}
		if (precise || p.Budget > 0 && spent >= p.Budget && p.least(class) >= p.Least) && (p.Whole == nil || p.Whole()) {
			return nil
		}
		if precise {
			pending = p.all()
		}
		p.useChosen(class)
		group, failed := p.group(ctx, pending)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		after, err := p.probe(ctx)
		if err != nil {
			return err
		}
		p.settle(class, group, before.Same(after))
		before = after
		p.choose(class)
		if len(group) > 0 {
			failures = streak{}
		}
		if failed == nil {
			continue
		}
		p.Outcome.Lost++
		if err := failures.add(failed); err != nil {
			return err
		}
		if err := p.resume(ctx, class, failed, failures.length); err != nil {
			return err
		}
		if errors.Is(failed, ErrEnded) {
			// Starting takes time, in which the regime may have changed.
			if before, err = p.probe(ctx); err != nil {
				return err
			}
		}
	}
}

// resume has the plan go on after a block was lost in a regime, with those lost in a row
// before. It returns the error where it cannot.
func (p *Plan) resume(ctx context.Context, class regime.Class, failed error, inARow int) error {
	switch {
	case errors.Is(failed, ErrEnded):
		p.endedIn(class)
		if p.Again == nil {
			return failed
		}
		return p.Again(ctx)
	case errors.Is(failed, ErrStalled):
		if inARow%failuresToLengthen == 0 && p.Bench.Slicing.Length < longestStalled {
			p.Bench.Slicing.Length *= 2
			p.keepLength(class)
		}
		return nil
	}
	return failed
}

const (
	regimePoll = 20 * time.Millisecond
	// regimePatience bounds the wait for a regime where the plan does not.
	regimePatience = 20 * time.Second
)

// ErrRegimeLeft is wrapped when the regime that a plan wants does not come back.
var ErrRegimeLeft = errors.New("the CPUs moved")

// await returns when the wanted regime has come back.
func (p *Plan) await(ctx context.Context) (regime.Tag, error) {
	patience := cmp.Or(p.Patience, regimePatience)
	if p.MostWaited > 0 {
		patience = min(patience, max(p.MostWaited-p.waited, 0))
	}
	begin := p.Bench.Clock.Now()
	defer func() { p.waited += p.Bench.Clock.Now() - begin }()
	for ; ; p.Bench.Clock.Sleep(regimePoll) {
		tag, err := p.probe(ctx)
		if err = cmp.Or(err, ctx.Err()); err != nil || tag.Class == p.Class {
			return tag, err
		}
		if p.Bench.Clock.Now()-begin > patience {
			return tag, fmt.Errorf("%w: the %s placement did not come back in %v: try again later, or pin the virtual CPUs on the host", ErrRegimeLeft, p.Class, patience)
		}
	}
}

// probe tells the regime while nobody works.
func (p *Plan) probe(ctx context.Context) (regime.Tag, error) {
	if err := p.Bench.Set(0); err != nil {
		return regime.Tag{}, err
	}
	tag, err := p.Probe(ctx)
	p.Bench.Forget()
	if err == nil {
		p.Outcome.RoundTrips[tag.Class] = append(p.Outcome.RoundTrips[tag.Class], float64(tag.RoundTrip))
	}
	return tag, err
}

// group takes blocks for the time of a group, one at least, and returns those
// that were complete.
func (p *Plan) group(ctx context.Context, pending []*Point) ([]taken, error) {
	var group []taken
	begin := p.Bench.Clock.Now()
	var queue []*Point
	for first := true; first || p.Bench.Clock.Now()-begin < p.groupLength; first = false {
		if len(queue) == 0 {
			queue = pending
		}
		var points []*Point
		points, queue = p.next(queue)
		blocks, err := p.take(ctx, points)
		if err != nil {
			return group, err
		}
		group = append(group, blocks...)
	}
	return group, nil
}

// next returns the first point of a queue, and those after it that are to share its first
// state, and the queue without them.
func (p *Plan) next(queue []*Point) (points, left []*Point) {
	points = []*Point{queue[0]}
	most := min(p.Sharing, int(longestShared*p.groupLength/(2*p.Bench.Slicing.Length))-len(points[0].States))
	for _, point := range queue[1:] {
		if len(points) <= most && point.shares(points[0]) && !slices.Contains(points, point) {
			points = append(points, point)
		} else {
			left = append(left, point)
		}
	}
	return points, left
}

// shares reports whether a point can be measured by the slices of the first state of another
// one and by some of its own. A control cannot: nothing may differ between its slices, nor
// before them.
func (point *Point) shares(with *Point) bool {
	return len(point.States) == 2 && point.States[0] == with.States[0] && !point.control() && !with.control() &&
		point.Slicing == (Slicing{}) && with.Slicing == (Slicing{})
}

// control reports whether all states of a point are the same.
func (point *Point) control() bool { return len(slices.Compact(slices.Clone(point.States))) == 1 }

// take takes a block of a point, in which others share its first state.
func (p *Plan) take(ctx context.Context, points []*Point) ([]taken, error) {
	first, sharers := points[0], points[1:]
	if first.Slicing != (Slicing{}) {
		others := p.Bench.Slicing
		p.Bench.Slicing = first.Slicing
		defer func() { p.Bench.Slicing = others }()
	}
	if len(sharers) == 0 {
		if first.Prepare != nil {
			if err := first.Prepare(); err != nil {
				return nil, err
			}
		}
		block, err := p.Bench.Take(ctx, first.States...)
		return []taken{{first, block}}, err
	}
	var turns []turn
	for _, point := range sharers {
		turns = append(turns, turn{point.States[1], point.Prepare})
	}
	for _, s := range first.States {
		turns = append(turns, turn{s, first.Prepare})
	}
	block, err := p.Bench.take(ctx, turns)
	if err != nil {
		return nil, err
	}
	own := make([]int, len(first.States))
	for i := range own {
		own[i] = len(sharers) + i
	}
	group := []taken{{first, block.of(own)}}
	for i, point := range sharers {
		group = append(group, taken{point, block.of([]int{len(sharers), i})})
	}
	return group, nil
}

// of returns the block of some of the states.
func (b *Block) of(states []int) *Block {
	part := *b
	part.States, part.LogRates, part.Lost = nil, nil, nil
	for _, i := range states {
		part.States = append(part.States, b.States[i])
		part.LogRates = append(part.LogRates, b.LogRates[i])
		part.Lost = append(part.Lost, b.Lost[i])
	}
	if b.Early != nil {
		part.Early = b.Early.of(states)
	}
	return &part
}

// settle keeps a group during which the placement lasted, and drops another; the next
// one becomes longer or shorter.
func (p *Plan) settle(class regime.Class, group []taken, lasted bool) {
	if !lasted {
		p.Outcome.Dropped += len(group)
		p.groupLength = max(p.groupLength/2, p.Bench.Slicing.Length)
		return
	}
	p.keep(class, group)
	p.groupLength = min(time.Duration(groupGrowth*float64(p.groupLength)), longestGroup)
}

func (p *Plan) keep(class regime.Class, group []taken) {
	of := p.Outcome.Readings[class]
	if of == nil {
		of = map[string][]Reading{}
		p.Outcome.Readings[class] = of
	}
	if p.Outcome.Blocks == nil {
		p.Outcome.Blocks = map[regime.Class]int{}
	}
	p.Outcome.Blocks[class] += len(group)
	for _, t := range group {
		for _, c := range t.point.Compare {
			y, off, ok := c.read(t.block)
			if !ok {
				continue
			}
			r := Reading{Log: y, Lost: c.lost(t.block), Position: t.block.Counts[c.Party], Alone: math.Exp(off), Beside: math.Exp(off + y)}
			if t.block.Early != nil {
				if y, off, ok := c.read(t.block.Early); ok {
					r.Early = &Ratio{Log: y, Lost: c.lost(t.block.Early), Alone: math.Exp(off), Beside: math.Exp(off + y)}
				}
			}
			if n := len(of[c.Name]); n > 0 {
				last := of[c.Name][n-1]
				r.Run = last.Run
				if r.Position < last.Position {
					r.Run++
				}
			}
			of[c.Name] = append(of[c.Name], r)
		}
	}
}

// read returns the logarithms of the ratio that is compared, and of the rate in the
// state Off; false where the block does not tell.
func (c *Comparison) read(b *Block) (y, off float64, ok bool) {
	y, ok = b.LogRatio(c.Party, c.On, c.Off)
	off = b.LogRates[c.Off][c.Party]
	if ok && c.Per != nil {
		var per float64
		per, ok = b.LogRatio(*c.Per, c.On, c.Off)
		y, off = y-per, off-b.LogRates[c.Off][*c.Per]
	}
	return y, off, ok
}

// lost returns what interruptions took from the ratio that is compared.
func (c *Comparison) lost(b *Block) float64 {
	lost := b.Lost[c.On][c.Party] - b.Lost[c.Off][c.Party]
	if c.Per != nil {
		lost -= b.Lost[c.On][*c.Per] - b.Lost[c.Off][*c.Per]
	}
	return lost
}
