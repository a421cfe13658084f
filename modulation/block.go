package modulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Clock tells and passes time.
type Clock interface {
	// Now returns the time since an arbitrary moment.
	Now() time.Duration
	// Sleep returns after d or a little later.
	Sleep(d time.Duration)
}

// Party is one of those that run beside each other.
type Party interface {
	// Switch has the party work, or keeps it from working. It may return before
	// the party follows: a slice begins with a time to settle.
	Switch(on bool) error
	// Read returns how much work the party had done, a count that never falls, and
	// when, by the clock of the bench. The error wraps ErrEnded when the party has
	// ended.
	Read() (work float64, at time.Duration, err error)
	// Smooth reports whether the count grows in steps far shorter than a slice.
	// Otherwise the rate in a slice is taken from one step to another.
	Smooth() bool
}

var (
	// ErrEnded is wrapped when a party has ended.
	ErrEnded = errors.New("the program ended")
	// ErrStalled is wrapped when the work of a party did not grow in a slice.
	ErrStalled = errors.New("the work did not grow")
	// ErrBack is wrapped when the count of a party fell.
	ErrBack = errors.New("the count of work fell")
)

// State says which parties work: bit p stands for party p.
type State uint

// Has reports whether party p works in the state.
func (s State) Has(p int) bool { return s&(1<<p) != 0 }

// Slicing says how long the slices of a block are.
type Slicing struct {
	// Length is that of a slice.
	Length time.Duration
	// Settle is the part of it, at its beginning, that does not count: switches
	// take effect, and caches fill.
	Settle time.Duration
	// Early, unless it is 0, is a moment before Settle from which the rates are learned, too:
	// whether it would do to settle for so long.
	Early time.Duration
}

const (
	// edgePoll is how often a count is read to find the edges of its steps, and
	// edgeGap how far apart two reads are at most that show when a step came.
	edgePoll = 200 * time.Microsecond
	edgeGap  = 1 * time.Millisecond
	// defaultPatience is that of a bench.
	defaultPatience = 4
)

// Block is the reading of one palindrome of slices.
type Block struct {
	// States are those that took turns.
	States []State
	// LogRates holds the mean logarithm of the rate, in work per second, by the
	// index of the state and the party; NaN for a party that did not work in it.
	LogRates [][]float64
	// Lost holds, by the same indexes, what to add to LogRates where one of the two
	// slices of a state was interrupted: the logarithm of the faster one less the
	// mean; 0 elsewhere. Nil in a block of Around.
	Lost [][]float64
	// Early is the same block with the rates from an early moment of the slices on; nil
	// where there is none. It has LogRates and Lost only.
	Early *Block
	// Counts holds the count of each party in the middle of the block, between
	// the first and the last that was read: how far the party was.
	Counts []float64
	// Start and End are the times of the block.
	Start, End time.Duration
}

// LogRatio returns the logarithm of the rate of party p in the state of index on
// ÷ in that of index off; false where the block does not tell.
func (b *Block) LogRatio(p, on, off int) (float64, bool) {
	y := b.LogRates[on][p] - b.LogRates[off][p]
	return y, !math.IsNaN(y) && !math.IsInf(y, 0)
}

// Bench is where parties run beside each other.
type Bench struct {
	Clock   Clock
	Random  *rand.Rand
	Parties []Party
	Slicing Slicing
	// Patience is how many times its length a slice may take to see two steps of
	// every count; 0 means 4.
	Patience int

	state State
	known bool
}

// Take runs the states as a palindrome, from the first on or from the last on at
// random, and returns the reading.
// The parties are left in the last state. The error wraps that of a party, or is
// the context's.
func (b *Bench) Take(ctx context.Context, states ...State) (*Block, error) {
	turns := make([]turn, len(states))
	for i, s := range states {
		turns[i].state = s
	}
	return b.take(ctx, turns)
}

// turn is a state, and what sets what the parties do in it; nil for nothing.
type turn struct {
	state   State
	prepare func() error
}

// take is Take of turns.
func (b *Bench) take(ctx context.Context, turns []turn) (*Block, error) {
	states := make([]State, len(turns))
	for i, t := range turns {
		states[i] = t.state
	}
	block := &Block{States: states, Counts: b.unknown(), Start: b.Clock.Now()}
	block.unknown(len(b.Parties))
	if b.Slicing.Early > 0 {
		block.Early = &Block{States: states}
		block.Early.unknown(len(b.Parties))
	}
	first, last := b.unknown(), b.unknown()
	order := make([]int, len(states))
	for i := range order {
		order[i] = i
	}
	if b.Random.IntN(2) == 1 {
		slices.Reverse(order)
	}
	palindrome := slices.Concat(order, reversed(order))
	for n, i := range palindrome {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if prepare := turns[i].prepare; prepare != nil && (n == 0 || palindrome[n-1] != i) {
			if err := prepare(); err != nil {
				return nil, err
			}
			b.Forget()
		}
		logs, early, err := b.slice(states[i], first, last)
		if err != nil {
			return nil, err
		}
		block.add(i, logs, n >= len(states))
		if block.Early != nil {
			block.Early.add(i, early, n >= len(states))
		}
	}
	for p := range first {
		block.Counts[p] = (first[p] + last[p]) / 2
	}
	block.End = b.Clock.Now()
	return block, nil
}

// unknown has a block hold the rates of so many parties, none of them known.
func (b *Block) unknown(parties int) {
	for range b.States {
		rates := make([]float64, parties)
		for p := range rates {
			rates[p] = math.NaN()
		}
		b.LogRates = append(b.LogRates, rates)
		b.Lost = append(b.Lost, make([]float64, parties))
	}
}

// add adds the rates of a slice of the state of index i, again if it is the second one.
func (b *Block) add(i int, logs []float64, again bool) {
	for p := range logs {
		if !again {
			b.LogRates[i][p] = logs[p]
			continue
		}
		before := b.LogRates[i][p]
		b.LogRates[i][p] = (before + logs[p]) / 2
		if apart := math.Abs(before - logs[p]); apart > interrupted {
			b.Lost[i][p] = apart / 2
		}
	}
}

// interrupted is the difference of the logarithms from which on the slower of two
// slices of a state was interrupted: it lost a third of its time. A hypervisor that
// takes a CPU away slows a slice down, nothing speeds one up, and a guest cannot tell
// otherwise.
const interrupted = 0.4

// unknown returns NaN for every party.
func (b *Bench) unknown() []float64 {
	row := make([]float64, len(b.Parties))
	for p := range row {
		row[p] = math.NaN()
	}
	return row
}

func reversed(order []int) []int {
	back := slices.Clone(order)
	slices.Reverse(back)
	return back
}

// Forget has the next Set switch every party, because somebody else may have.
func (b *Bench) Forget() { b.known = false }

// Set has exactly the parties of s work, those that stop first. Where one cannot
// be stopped, the others still are, and nobody starts.
func (b *Bench) Set(s State) error {
	known := b.known
	b.known = false
	var err error
	for p, party := range b.Parties {
		if !s.Has(p) && !(known && !b.state.Has(p)) {
			err = errors.Join(err, party.Switch(false))
		}
	}
	for p, party := range b.Parties {
		if err == nil && s.Has(p) && !(known && b.state.Has(p)) {
			err = party.Switch(true)
		}
	}
	if err == nil {
		b.state, b.known = s, true
	}
	return err
}

// slice runs one state for the length of a slice and returns the logarithm of
// each party's rate, NaN for those that do not work, and the same from the early moment
// on, NaN also where that is not known. It keeps the last count read of each, and the
// first where none is known.
func (b *Bench) slice(s State, first, last []float64) (logs, early []float64, err error) {
	begin := b.Clock.Now()
	if err := b.Set(s); err != nil {
		return nil, nil, err
	}
	settled, fromEarly := b.readings(s), b.readings(s)
	if err := b.readEarly(fromEarly, begin, first, last); err != nil {
		return nil, nil, err
	}
	b.Clock.Sleep(begin + b.Slicing.Settle - b.Clock.Now())
	counted := b.Clock.Now()
	end := max(begin+b.Slicing.Length, counted+(b.Slicing.Length-b.Slicing.Settle)/2)
	limit := counted + time.Duration(cmp.Or(b.Patience, defaultPatience))*b.Slicing.Length
	for {
		now := b.Clock.Now()
		if err := b.read(settled, end, first, last); err != nil {
			return nil, nil, err
		}
		if now >= limit || !slices.ContainsFunc(settled, reading.incomplete) {
			break
		}
		wait := edgePoll
		if now < end && !slices.ContainsFunc(settled, reading.seeksFirst) {
			wait = end - now
		}
		b.Clock.Sleep(wait)
	}
	logs, early = b.unknown(), b.unknown()
	for p := range b.Parties {
		if !s.Has(p) {
			continue
		}
		rate := settled[p].rate()
		if !(rate > 0) {
			return nil, nil, fmt.Errorf("%w in %v", ErrStalled, b.Clock.Now()-begin)
		}
		logs[p] = math.Log(rate)
		if r := &fromEarly[p]; b.Slicing.Early > 0 && r.edges > 0 && r.start < settled[p].start {
			early[p] = math.Log((settled[p].to - r.from) / (settled[p].stop - r.start).Seconds())
		}
	}
	return logs, early, nil
}

// readEarly reads the counts from the early moment of a slice on, if there is one, until it
// has settled.
func (b *Bench) readEarly(into []reading, begin time.Duration, first, last []float64) error {
	if b.Slicing.Early == 0 {
		return nil
	}
	settled := begin + b.Slicing.Settle
	b.Clock.Sleep(begin + b.Slicing.Early - b.Clock.Now())
	for b.Clock.Now() < settled {
		if err := b.read(into, math.MaxInt64, first, last); err != nil {
			return err
		}
		wait := settled - b.Clock.Now()
		if slices.ContainsFunc(into, reading.seeksFirst) {
			wait = min(wait, edgePoll)
		}
		b.Clock.Sleep(wait)
	}
	return nil
}

// readings returns one of each party, which is to be read in a state.
func (b *Bench) readings(s State) []reading {
	readings := make([]reading, len(b.Parties))
	for p, party := range b.Parties {
		readings[p].works = s.Has(p)
		readings[p].smooth = party.Smooth()
	}
	return readings
}

// read reads the counts of the parties that work.
func (b *Bench) read(into []reading, end time.Duration, first, last []float64) error {
	for p, party := range b.Parties {
		if !into[p].works {
			continue
		}
		n, at, err := party.Read()
		if err != nil {
			return err
		}
		if err := into[p].add(n, at, at >= end); err != nil {
			return err
		}
		if last[p] = n; math.IsNaN(first[p]) {
			first[p] = n
		}
	}
	return nil
}

// reading collects the count of a party in one slice.
type reading struct {
	works bool
	// smooth says that every moment counts as the edge of a step.
	smooth bool
	// value was read last, at the time at, if seen.
	seen  bool
	value float64
	at    time.Duration
	// from and to are the counts at the first edge and at the last, start and
	// stop the times of these.
	from, to    float64
	start, stop time.Duration
	edges       int
	// complete says that the last edge came after the end of the slice.
	complete bool
}

// add adds a count, read after the end of the slice if late.
func (r *reading) add(n float64, now time.Duration, late bool) error {
	if r.seen && n < r.value {
		return ErrBack
	}
	// A step that came during a long sleep came at an unknown time.
	edge := r.smooth || r.seen && n > r.value && now-r.at <= edgeGap
	r.seen, r.value, r.at = true, n, now
	if !edge || r.complete {
		return nil
	}
	if r.edges == 0 {
		r.from, r.start = n, now
	}
	r.to, r.stop = n, now
	r.edges++
	r.complete = late && r.edges > 1 && r.rate() > 0
	return nil
}

// seeksFirst reports whether the first edge has not been found.
func (r reading) seeksFirst() bool { return r.works && r.edges == 0 }

// incomplete reports whether the edge after the end has not been found.
func (r reading) incomplete() bool { return r.works && !r.complete }

// rate returns the work per second; 0 when it is not known.
func (r *reading) rate() float64 {
	if r.edges < 2 || r.stop <= r.start {
		return 0
	}
	return (r.to - r.from) / (r.stop - r.start).Seconds()
}
