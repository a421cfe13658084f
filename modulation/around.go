package modulation

import (
	"context"
	"errors"
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
		if rates[turn], _, err = b.slice(s, first, last); err != nil {
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
