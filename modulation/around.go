package modulation

import (
	"context"
	"errors"
	"time"
)

// Around runs the state outer, then inner, then outer again, and returns the
// reading: index 0 is outer, the mean of both slices, and index 1 is inner. A
// linear drift cancels, and inner lasts for one slice only. The parties are left
// in outer, whatever happens. The error wraps that of a party, or is the
// context's.
func (b *Bench) Around(ctx context.Context, outer, inner State) (block *Block, err error) {
	block = &Block{States: []State{outer, inner}, Counts: b.unknown(), Start: b.Clock.Now()}
	first, last := b.unknown(), b.unknown()
	defer func() {
		if err != nil {
			b.Forget()
			err = errors.Join(err, b.Set(outer))
		}
	}()
	var rates [3][]float64
	for turn, s := range []State{outer, inner, outer} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if rates[turn], err = b.slice(s, first, last); err != nil {
			return nil, err
		}
	}
	around := b.unknown()
	for p := range around {
		around[p] = (rates[0][p] + rates[2][p]) / 2
		block.Counts[p] = (first[p] + last[p]) / 2
	}
	block.LogRates = [][]float64{around, rates[1]}
	block.End = b.Clock.Now()
	return block, nil
}

const (
	// stepTrial and stepPatience are how long steps are counted at least and at
	// most, and enoughSteps how many suffice.
	stepTrial, stepPatience = 100 * time.Millisecond, 2 * time.Second
	enoughSteps             = 50
	// longestUnseen is the most that the time between two reads counts for: on a busy
	// machine it can be longer, and more steps than the one that is seen fit into it.
	longestUnseen = 5 * time.Millisecond
)

// StepRate returns how many steps per second a count grows in, which for bytes are
// far fewer than the bytes. It is told by reading for a tenth of a second, or longer
// until there were 50 steps; 0 when nothing grew in two seconds. With an error of read
// it returns the rate until then.
func StepRate(ctx context.Context, clock Clock, read func() (float64, error)) (float64, error) {
	last, err := read()
	if err != nil {
		return 0, err
	}
	steps := 0
	begin := clock.Now()
	seen := time.Duration(0)
	rate := func() float64 {
		if steps == 0 {
			return 0
		}
		return float64(steps) / seen.Seconds()
	}
	for before := begin; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		clock.Sleep(edgePoll)
		n, err := read()
		if err != nil {
			return rate(), err
		}
		if n != last {
			steps++
		}
		last = n
		now := clock.Now()
		seen += min(now-before, longestUnseen)
		before = now
		if now-begin >= stepTrial && steps >= enoughSteps || now-begin >= stepPatience {
			return rate(), nil
		}
	}
}
