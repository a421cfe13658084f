package samples

import (
	"context"
	"fmt"
)

// radixKeys is the number of keys: two buffers of 48 MiB.
const radixKeys = 6 << 20

// radixTick is the number of keys of a tick.
const radixTick = 768

// Keys are sorted by digits of radixBits of their ranks. A pass writes to sixteen places.
// With 256 its speed varied by itself beside any busy neighbor.
const (
	radixBits  = 4
	radixSize  = 1 << radixBits
	rankBits   = 32
	rankDigits = rankBits / radixBits
)

func radixSortSample() Sample {
	return Sample{
		Name:        "radix-sort",
		Description: "sorts random 64-bit keys by their hashes, four bits at a time",
		Unit:        "keys",
		WorkingSet:  2 * 8 * radixKeys,
		prepare: func(memory *region, scale float64) kernel {
			return newRadixSort(memory, radixKeys, steps(1, scale))
		},
	}
}

// radixSort sorts keys several rounds, each by another hash. All of its passes do the
// same: each moves the keys by one digit and counts the next.
type radixSort struct {
	keys, spare []uint64
	rounds      int
	made        keySet
	// counts are those of the first digit of the first round.
	counts digitCounts
	sum    digest
}

// digitCounts is a number by value of a digit.
type digitCounts [radixSize]uint32

func newRadixSort(memory *region, n, rounds int) *radixSort {
	s := &radixSort{
		keys:   array[uint64](memory, n),
		spare:  array[uint64](memory, n),
		rounds: rounds,
	}
	first := newDigit(0, 0)
	for i := range s.keys {
		s.keys[i] = scramble(uint64(i) * golden)
		s.counts[first.value(s.keys[i])]++
	}
	s.made = setOf(s.keys)
	return s
}

func (s *radixSort) run(ctx context.Context) error {
	counts := s.counts
	for round := range s.rounds {
		if err := s.sortBy(ctx, round, &counts); err != nil {
			return err
		}
		s.sum.add(s.keys[len(s.keys)/2])
	}
	return nil
}

// sortBy sorts the keys by their ranks in a round, in eight stable passes. counts are
// those of the first digit, and afterward of the first digit of the next round. The
// error is the context's, between two passes.
func (s *radixSort) sortBy(ctx context.Context, round int, counts *digitCounts) error {
	from, to := s.keys, s.spare
	for place := range rankDigits {
		if err := ctx.Err(); err != nil {
			return err
		}
		places := counts.places()
		*counts = digitCounts{}
		this, next := newDigit(round, place), newDigit(round+(place+1)/rankDigits, (place+1)%rankDigits)
		inTicks(len(from), radixTick, func(first, last int) { scatter(to, from[first:last], this, next, places, counts) })
		from, to = to, from
	}
	return nil
}

// places returns where the first key of each value goes.
func (c *digitCounts) places() *digitCounts {
	places, place := new(digitCounts), uint32(0)
	for value, count := range c {
		places[value] = place
		place += count
	}
	return places
}

// rank is that of a key in a round.
func rank(key uint64, round int) uint32 { return uint32(scramble(key + saltOf(round))) }

// saltOf tells the ranks of a round from those of others.
func saltOf(round int) uint64 { return uint64(round+1) * golden }

// digit is one of the ranks of a round.
type digit struct {
	salt  uint64
	shift uint
}

func newDigit(round, place int) digit { return digit{saltOf(round), uint(radixBits * place)} }

// value returns the digit of a key.
func (d digit) value(key uint64) uint8 { return uint8(scramble(key+d.salt)>>(d.shift&63)) % radixSize }

// scatter moves keys to the places of their digit, and counts their next one. In line
// it would be slower, for want of registers.
//
//go:noinline
func scatter(to, keys []uint64, this, next digit, places, counts *digitCounts) {
	for _, key := range keys {
		value := this.value(key)
		to[places[value]] = key
		places[value]++
		counts[next.value(key)]++
	}
}

func (s *radixSort) work() float64 { return float64(len(s.keys)) * float64(s.rounds) }

// verify checks that the last round has sorted all keys. The digest is of every round.
func (s *radixSort) verify() (uint64, error) {
	previous := uint32(0)
	for i, key := range s.keys {
		now := rank(key, s.rounds-1)
		if now < previous {
			return 0, fmt.Errorf("%w: key %d has the rank %#x, after %#x", ErrWrongResult, i, now, previous)
		}
		previous = now
	}
	if setOf(s.keys) != s.made {
		return 0, fmt.Errorf("%w: keys were lost", ErrWrongResult)
	}
	return uint64(s.sum), nil
}

// keySet characterizes a set of keys whatever their order.
type keySet struct{ sum, xor uint64 }

func setOf(keys []uint64) (set keySet) {
	for _, key := range keys {
		set.sum += key
		set.xor ^= key
	}
	return set
}
