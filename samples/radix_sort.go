package samples

import (
	"context"
	"fmt"

	"bandmate.dev/bandmate/ticks/progress"
)

// radixKeys is the number of keys: two buffers of 48 MiB. It is no power of
// two, so that the 256 places written to do not fall into the same cache sets.
const radixKeys = 6 << 20

// The numbers of keys of a tick in each phase of a round. A tick takes about the
// same time in all of them.
const (
	makeTick    = 12 << 10
	countTick   = 2 << 10
	scatterTick = 6 << 10
	checkTick   = 24 << 10
)

func radixSortSample() Sample {
	return Sample{
		Name:        "radix-sort",
		Description: "sorts random 64-bit keys, one byte at a time from the lowest",
		Unit:        "keys",
		WorkingSet:  2 * 8 * radixKeys,
		prepare: func(memory *region, scale float64) kernel {
			return newRadixSort(memory, radixKeys, steps(3, scale))
		},
	}
}

// radixSort makes random keys and sorts them, several rounds with other keys.
type radixSort struct {
	keys, spare []uint64
	rounds      int
	sum         digest
}

func newRadixSort(memory *region, n, rounds int) *radixSort {
	return &radixSort{
		keys:   array[uint64](memory, n),
		spare:  array[uint64](memory, n),
		rounds: rounds,
	}
}

// run sorts every round's keys and checks them at once: the next round's
// overwrite them.
func (s *radixSort) run(ctx context.Context) error {
	for round := range s.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		made := makeKeys(s.keys, uint64(round))
		sortKeys(s.keys, s.spare)
		found, err := checkSorted(s.keys)
		if err != nil {
			return err
		}
		if found != made {
			return fmt.Errorf("%w: round %d lost keys", ErrWrongResult, round)
		}
		s.sum.add(found.sum)
		s.sum.add(s.keys[len(s.keys)/2])
	}
	return nil
}

func (s *radixSort) work() float64 { return float64(len(s.keys)) * float64(s.rounds) }

// verify returns the digest of the rounds, which run has checked.
func (s *radixSort) verify() (uint64, error) { return uint64(s.sum), nil }

// keySet characterizes a set of keys whatever their order.
type keySet struct {
	sum uint64
	xor uint64
}

func (k *keySet) add(key uint64) {
	k.sum += key
	k.xor ^= key
}

// makeKeys fills keys with random numbers, other ones for every seed.
func makeKeys(keys []uint64, seed uint64) keySet {
	var set keySet
	state := scramble(seed)
	inTicks(len(keys), makeTick, func(from, to int) { state = set.fill(keys[from:to], state) })
	return set
}

// fill makes keys from a state and returns the next one.
func (k *keySet) fill(keys []uint64, state uint64) uint64 {
	set := *k
	for i := range keys {
		state += golden
		key := scramble(state)
		keys[i] = key
		set.add(key)
	}
	*k = set
	return state
}

// checkSorted reports the first pair of keys out of order.
func checkSorted(keys []uint64) (keySet, error) {
	var set keySet
	previous := uint64(0)
	for from := 0; from < len(keys); from += checkTick {
		for i, key := range keys[from:min(from+checkTick, len(keys))] {
			if key < previous {
				return set, fmt.Errorf("%w: key %d is %#x, after %#x", ErrWrongResult, from+i, key, previous)
			}
			set.add(key)
			previous = key
		}
		progress.Add(1)
	}
	return set, nil
}

// sortKeys sorts by counting, eight stable passes over one byte each. Spare is
// scratch space of the same length.
func sortKeys(keys, spare []uint64) {
	var counts [8][256]uint32
	// A function of its own would count slower, by a pointer.
	for from := 0; from < len(keys); from += countTick {
		for _, key := range keys[from:min(from+countTick, len(keys))] {
			for digit := range counts {
				counts[digit][uint8(key>>(8*digit))]++
			}
		}
		progress.Add(1)
	}
	from, to := keys, spare
	for digit := range counts {
		// From here on the count of a digit is the place of its next key.
		places := &counts[digit]
		place := uint32(0)
		for value, count := range places {
			places[value] = place
			place += count
		}
		shift := uint(8 * digit)
		inTicks(len(from), scatterTick, func(first, last int) { scatter(to, from[first:last], places, shift) })
		from, to = to, from
	}
}

// scatter moves keys to the places of their digit. In line it would be slower, for
// want of registers.
//
//go:noinline
func scatter(to, keys []uint64, places *[256]uint32, shift uint) {
	for _, key := range keys {
		value := uint8(key >> (shift & 63))
		to[places[value]] = key
		places[value]++
	}
}
