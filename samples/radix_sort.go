package samples

import (
	"context"
	"fmt"
)

// radixKeys is the number of keys: two buffers of 48 MiB. It is no power of
// two, so that the 256 places written to do not fall into the same cache sets.
const radixKeys = 6 << 20

// The numbers of keys of a tick in each phase of a round. A tick takes about the
// same time in all of them.
const (
	makeTick    = 6 << 10
	countTick   = 1 << 10
	scatterTick = 3 << 10
	checkTick   = 12 << 10
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
	var previous uint64
	var fault error
	inTicks(len(keys), checkTick, func(from, to int) {
		if i := set.unsorted(keys[from:to], previous); i >= 0 && fault == nil {
			fault = fmt.Errorf("%w: key %d is %#x, less than that before", ErrWrongResult, from+i, keys[from+i])
		}
		previous = keys[to-1]
	})
	return set, fault
}

// unsorted adds keys to the set. It returns the first one that is less than that
// before, or -1.
func (k *keySet) unsorted(keys []uint64, previous uint64) int {
	set, found := *k, -1
	for i, key := range keys {
		if key < previous && found < 0 {
			found = i
		}
		set.add(key)
		previous = key
	}
	*k = set
	return found
}

// digits holds a number for every value of every byte of a key.
type digits [8][256]uint32

// sortKeys sorts by counting, eight stable passes over one byte each. Spare is
// scratch space of the same length.
func sortKeys(keys, spare []uint64) {
	var counts digits
	inTicks(len(keys), countTick, func(from, to int) { counts.count(keys[from:to]) })
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

func (d *digits) count(keys []uint64) {
	for _, key := range keys {
		for digit := range d {
			d[digit][uint8(key>>(8*digit))]++
		}
	}
}

// scatter moves keys to the places of their digit.
func scatter(to, keys []uint64, places *[256]uint32, shift uint) {
	for _, key := range keys {
		value := uint8(key >> (shift & 63))
		to[places[value]] = key
		places[value]++
	}
}
