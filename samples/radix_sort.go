package samples

import (
	"context"
	"fmt"
)

// radixKeys is the number of keys: two buffers of 48 MiB. It is no power of
// two, so that the 256 places written to do not fall into the same cache sets.
const radixKeys = 6 << 20

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
	for i := range keys {
		state += golden
		key := scramble(state)
		keys[i] = key
		set.add(key)
	}
	return set
}

// checkSorted reports the first pair of keys out of order.
func checkSorted(keys []uint64) (keySet, error) {
	var set keySet
	previous := uint64(0)
	for i, key := range keys {
		if key < previous {
			return set, fmt.Errorf("%w: key %d is %#x, after %#x", ErrWrongResult, i, key, previous)
		}
		set.add(key)
		previous = key
	}
	return set, nil
}

// sortKeys sorts by counting, eight stable passes over one byte each. Spare is
// scratch space of the same length.
func sortKeys(keys, spare []uint64) {
	var counts [8][256]uint32
	for _, key := range keys {
		for digit := range counts {
			counts[digit][uint8(key>>(8*digit))]++
		}
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
		for _, key := range from {
			value := uint8(key >> (shift & 63))
			to[places[value]] = key
			places[value]++
		}
		from, to = to, from
	}
}
