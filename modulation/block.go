package modulation

import (
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
}

const (
	// edgePoll is how often a count is read to find the edges of its steps.
	edgePoll = 200 * time.Microsecond
	// stallLimit is how many times its length a slice may take to see two steps.
	stallLimit = 4
)

// Block is the reading of one palindrome of slices.
type Block struct {
	// States are those that took turns.
	States []State
	// LogRates holds the mean logarithm of the rate, in work per second, by the
	// index of the state and the party; NaN for a party that did not work in it.
	LogRates [][]float64
	// Work is what each party did in the whole block.
	Work []float64
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

	state State
	known bool
}

// Take runs the states as a palindrome in random order and returns the reading.
// The parties are left in the last state. The error wraps that of a party, or is
// the context's.
func (b *Bench) Take(ctx context.Context, states ...State) (*Block, error) {
	block := &Block{States: states, Work: make([]float64, len(b.Parties)), Start: b.Clock.Now()}
	for range states {
		row := make([]float64, len(b.Parties))
		for p := range row {
			row[p] = math.NaN()
		}
		block.LogRates = append(block.LogRates, row)
	}
	order := b.Random.Perm(len(states))
	palindrome := slices.Concat(order, reversed(order))
	for turn, i := range palindrome {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logs, err := b.slice(states[i], block.Work)
		if err != nil {
			return nil, err
		}
		for p := range logs {
			if turn < len(states) {
				block.LogRates[i][p] = logs[p] / 2
			} else {
				block.LogRates[i][p] += logs[p] / 2
			}
		}
	}
	block.End = b.Clock.Now()
	return block, nil
}

func reversed(order []int) []int {
	back := slices.Clone(order)
	slices.Reverse(back)
	return back
}

// Forget has the next Set switch every party, because somebody else may have.
func (b *Bench) Forget() { b.known = false }

// Set has exactly the parties of s work, those that stop first.
func (b *Bench) Set(s State) error {
	for _, on := range []bool{false, true} {
		for p, party := range b.Parties {
			if s.Has(p) != on || (b.known && b.state.Has(p) == on) {
				continue
			}
			if err := party.Switch(on); err != nil {
				b.known = false
				return err
			}
		}
	}
	b.state, b.known = s, true
	return nil
}

// slice runs one state for the length of a slice and returns the logarithm of
// each party's rate, NaN for those that do not work. It adds to work.
func (b *Bench) slice(s State, work []float64) ([]float64, error) {
	begin := b.Clock.Now()
	if err := b.Set(s); err != nil {
		return nil, err
	}
	b.Clock.Sleep(begin + b.Slicing.Settle - b.Clock.Now())
	readings := make([]reading, len(b.Parties))
	for p, party := range b.Parties {
		if s.Has(p) {
			readings[p].smooth = party.Smooth()
		}
	}
	counted := b.Clock.Now()
	end := max(begin+b.Slicing.Length, counted+(b.Slicing.Length-b.Slicing.Settle)/2)
	for first := true; ; first = false {
		searching := false
		for p, party := range b.Parties {
			if !s.Has(p) {
				continue
			}
			n, at, err := party.Read()
			if err != nil {
				return nil, err
			}
			if err := readings[p].add(n, at); err != nil {
				return nil, err
			}
			searching = searching || !readings[p].smooth
		}
		now := b.Clock.Now()
		if !first && now >= end && (b.complete(s, readings) || now >= counted+stallLimit*b.Slicing.Length) {
			break
		}
		switch {
		case searching:
			b.Clock.Sleep(edgePoll)
		case now < end:
			b.Clock.Sleep(end - now)
		default:
			b.Clock.Sleep(edgePoll)
		}
	}
	logs := make([]float64, len(b.Parties))
	for p := range b.Parties {
		logs[p] = math.NaN()
		if !s.Has(p) {
			continue
		}
		rate := readings[p].rate()
		if !(rate > 0) {
			return nil, fmt.Errorf("%w in %v", ErrStalled, b.Clock.Now()-begin)
		}
		logs[p] = math.Log(rate)
		// What was done while settling went on at about the same rate.
		work[p] += rate * (b.Clock.Now() - begin).Seconds()
	}
	return logs, nil
}

// complete reports whether every working party has a rate.
func (b *Bench) complete(s State, readings []reading) bool {
	for p := range b.Parties {
		if s.Has(p) && !(readings[p].rate() > 0) {
			return false
		}
	}
	return true
}

// reading collects the count of a party in one slice.
type reading struct {
	// smooth says that every moment counts as the edge of a step.
	smooth bool
	seen   int
	// value was read last.
	value float64
	// from and to are the counts at the first and the last edge, start and stop
	// the times of these.
	from, to    float64
	start, stop time.Duration
	edges       int
}

func (r *reading) add(n float64, now time.Duration) error {
	if r.seen > 0 && n < r.value {
		return ErrBack
	}
	edge := r.smooth || r.seen > 0 && n > r.value
	r.seen++
	r.value = n
	if !edge {
		return nil
	}
	if r.edges == 0 {
		r.from, r.start = n, now
	}
	r.to, r.stop = n, now
	r.edges++
	return nil
}

// rate returns the work per second; 0 when it is not known.
func (r *reading) rate() float64 {
	if r.edges < 2 || r.stop <= r.start {
		return 0
	}
	return (r.to - r.from) / (r.stop - r.start).Seconds()
}
