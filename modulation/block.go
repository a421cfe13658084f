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

	"bandmate.dev/bandmate/internal/stats"
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
	// Pieces is how many pieces the rest is read in, so that those can be left out in which
	// a smooth party was interrupted; 0 means 1. Each reading interrupts whoever runs on the
	// CPU that switches.
	Pieces int
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
	// mean; 0 elsewhere. Uneven is the same for slices without the pieces in which
	// the party got on unlike in the others. Both are nil in a block of Around.
	Lost, Uneven [][]float64
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

// Take runs the states as a palindrome in random order and returns the reading.
// The parties are left in the last state. The error wraps that of a party, or is
// the context's.
func (b *Bench) Take(ctx context.Context, states ...State) (*Block, error) {
	block := &Block{States: states, Counts: b.unknown(), Start: b.Clock.Now()}
	first, last := b.unknown(), b.unknown()
	earlier := make([][]sliceRate, len(states))
	for range states {
		block.LogRates = append(block.LogRates, b.unknown())
		block.Lost = append(block.Lost, make([]float64, len(b.Parties)))
		block.Uneven = append(block.Uneven, make([]float64, len(b.Parties)))
	}
	order := b.Random.Perm(len(states))
	palindrome := slices.Concat(order, reversed(order))
	for turn, i := range palindrome {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rates, err := b.slice(states[i], first, last)
		if err != nil {
			return nil, err
		}
		if turn < len(states) {
			earlier[i] = rates
			continue
		}
		for p, later := range rates {
			before := earlier[i][p]
			mean := (before.log + later.log) / 2
			block.LogRates[i][p] = mean
			block.Lost[i][p] = ofTwo(before.log, later.log) - mean
			block.Uneven[i][p] = ofTwo(before.even, later.even) - mean
		}
	}
	for p := range first {
		block.Counts[p] = (first[p] + last[p]) / 2
	}
	block.End = b.Clock.Now()
	return block, nil
}

// ofTwo returns the mean of the logarithms of the rates in two slices of a state, or the
// higher one if the other slice was interrupted.
func ofTwo(a, b float64) float64 {
	if math.Abs(a-b) > interrupted {
		return max(a, b)
	}
	return (a + b) / 2
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

// sliceRate is how fast a party got on in a slice.
type sliceRate struct {
	// log is the logarithm of the work per second, and even that without the pieces of the
	// slice in which the party got on unlike in the others; NaN for a party that did not
	// work.
	log, even float64
}

// slice runs one state for the length of a slice and returns the rate of each party. It
// keeps the last count read of each, and the first where none is known.
func (b *Bench) slice(s State, first, last []float64) ([]sliceRate, error) {
	begin := b.Clock.Now()
	if err := b.Set(s); err != nil {
		return nil, err
	}
	b.Clock.Sleep(begin + b.Slicing.Settle - b.Clock.Now())
	readings := make([]reading, len(b.Parties))
	for p, party := range b.Parties {
		readings[p].works = s.Has(p)
		readings[p].smooth = party.Smooth()
	}
	counted := b.Clock.Now()
	end := max(begin+b.Slicing.Length, counted+(b.Slicing.Length-b.Slicing.Settle)/2)
	limit := counted + time.Duration(cmp.Or(b.Patience, defaultPatience))*b.Slicing.Length
	pieces := max(b.Slicing.Pieces, 1)
	piece := (end - counted) / time.Duration(pieces)
	for {
		now := b.Clock.Now()
		for p, party := range b.Parties {
			if !s.Has(p) || now < end && readings[p].waits() {
				continue
			}
			n, at, err := party.Read()
			if err != nil {
				return nil, err
			}
			if err := readings[p].add(n, at, at >= end); err != nil {
				return nil, err
			}
			if last[p] = n; math.IsNaN(first[p]) {
				first[p] = n
			}
		}
		if now >= limit || !slices.ContainsFunc(readings, reading.incomplete) {
			break
		}
		wait := edgePoll
		if now < end && !slices.ContainsFunc(readings, reading.seeksFirst) {
			wait = end - now
			if k := int((now-counted)/piece) + 1; k < pieces {
				wait = counted + time.Duration(k)*piece - now
			}
		}
		b.Clock.Sleep(wait)
	}
	rates := make([]sliceRate, len(b.Parties))
	for p := range b.Parties {
		if !s.Has(p) {
			rates[p] = sliceRate{math.NaN(), math.NaN()}
			continue
		}
		rate := readings[p].rate()
		if !(rate > 0) {
			return nil, fmt.Errorf("%w in %v", ErrStalled, b.Clock.Now()-begin)
		}
		rates[p] = sliceRate{math.Log(rate), math.Log(readings[p].evenRate())}
	}
	return rates, nil
}

const (
	// fewestPieces is how many pieces tell which of them are unlike the others.
	fewestPieces = 4
	// unlike is how far from the median, as a share, the rate in a piece is that was
	// interrupted, or in which the machine was faster than usual.
	unlike = 0.05
)

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
	// marks are all edges of a smooth count.
	marks []mark
	// complete says that the last edge came after the end of the slice.
	complete bool
}

// mark is a count and when it was read.
type mark struct {
	count float64
	at    time.Duration
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
	if r.smooth {
		r.marks = append(r.marks, mark{n, now})
	}
	r.to, r.stop = n, now
	r.edges++
	r.complete = late && r.edges > 1 && r.rate() > 0
	return nil
}

// seeksFirst reports whether the first edge has not been found.
func (r reading) seeksFirst() bool { return r.works && r.edges == 0 }

// waits reports whether only the edge after the end is to be found.
func (r reading) waits() bool { return !r.smooth && r.edges > 0 }

// incomplete reports whether the edge after the end has not been found.
func (r reading) incomplete() bool { return r.works && !r.complete }

// rate returns the work per second; 0 when it is not known.
func (r *reading) rate() float64 {
	if r.edges < 2 || r.stop <= r.start {
		return 0
	}
	return (r.to - r.from) / (r.stop - r.start).Seconds()
}

// evenRate returns the work per second in the pieces that are like the median one; the
// rate where there are too few.
func (r *reading) evenRate() float64 {
	if len(r.marks) <= fewestPieces {
		return r.rate()
	}
	rates := make([]float64, len(r.marks)-1)
	for k := range rates {
		from, to := r.marks[k], r.marks[k+1]
		rates[k] = (to.count - from.count) / max(to.at-from.at, 1).Seconds()
	}
	median := stats.Median(rates)
	work, took := 0.0, time.Duration(0)
	for k, rate := range rates {
		if math.Abs(rate-median) <= unlike*median {
			work += r.marks[k+1].count - r.marks[k].count
			took += r.marks[k+1].at - r.marks[k].at
		}
	}
	if !(work > 0) || took <= 0 {
		return r.rate()
	}
	return work / took.Seconds()
}
