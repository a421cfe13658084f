package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"bandmate.dev/bandmate/units"
)

// MaxInFlight is the largest number of independent random lines in flight.
// One core of today's processors keeps 10 to 48 line fills outstanding.
const MaxInFlight = 16

// chains are the states of the pointer chains that Random interleaves.
type chains = [MaxInFlight]uint64

// The chains are linear congruential generators modulo 2⁶⁴ with the constants
// of Knuth's MMIX, perturbed by the word loaded at each visit: that word
// decides the next address, so that a chain cannot run ahead of its loads.
const (
	chainFactor    = 6364136223846793005
	chainIncrement = 1442695040888963407
)

// RandomState is where [Set.Random] stands: up to [MaxInFlight] chains of
// pseudo-random visits, and whose turn it is. It belongs to one goroutine.
// The zero RandomState must not be used: see [NewRandomState].
type RandomState struct {
	chains chains
	next   uint64
}

// NewRandomState returns the start of a sequence of visits. The sequence
// follows from the seed and from the contents of the buffer.
func NewRandomState(seed uint64) RandomState {
	var s RandomState
	words := splitMix(seed)
	for i := range s.chains {
		s.chains[i] = words.next()
	}
	return s
}

// scatterBatch is how many visits scatter draws before it makes them: what lies
// between two loads takes the place of loads in the processor's window.
const scatterBatch = 64

// scatter visits lines of buf in pseudo-random order that does not depend on
// what they hold: as many are in flight as the processor keeps. It modifies
// those that writes marks, and adds what it loads to sum. The race detector, which would
// make it many times slower, leaves it alone.
//
//go:norace
func (s *RandomState) scatter(buf []byte, lines uint64, writes diffusion, sum *uint64) {
	size := uint64(len(buf)) / units.LineBytes
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(buf))), len(buf)/8)
	var batch [scatterBatch]uint64
	x, loaded := s.chains[0], *sum
	for lines > 0 {
		places := batch[:min(lines, scatterBatch)]
		for i := range places {
			index, _ := bits.Mul64(x, size)
			places[i] = index * lineWords
			x = x*chainFactor + chainIncrement
		}
		switch writes.step {
		case 0:
			for _, at := range places {
				loaded += words[at]
			}
		case math.MaxUint64:
			for _, at := range places {
				v := words[at]
				loaded += v
				words[at] = v + increments[0]
			}
		default:
			for _, at := range places {
				v := words[at]
				loaded += v
				if writes.advance(1) != 0 {
					words[at] = v + increments[0]
				}
			}
		}
		lines -= uint64(len(places))
	}
	s.chains[0], *sum = x, loaded
}

// turn returns the chain to begin with and moves on by a number of visits.
func (s *RandomState) turn(visits, inFlight uint64) uint64 {
	begin := s.next % inFlight
	s.next = (begin + visits) % inFlight
	return begin
}

// randomStream visits lines of buf, the chains in turn from next on, and
// modifies those that writes marks. Latency leaves it ample time: assembly
// would not be faster.
func randomStream(buf []byte, chains *chains, next, inFlight, lines uint64, writes diffusion) {
	size := uint64(len(buf)) / units.LineBytes
	for range lines {
		x := chains[next%MaxInFlight]
		index, _ := bits.Mul64(x, size)
		word := buf[index*units.LineBytes:]
		v := binary.LittleEndian.Uint64(word)
		if writes.advance(1) != 0 {
			binary.LittleEndian.PutUint64(word, v+increments[0])
		}
		chains[next%MaxInFlight] = (x^v)*chainFactor + chainIncrement
		if next++; next == inFlight {
			next = 0
		}
	}
}

// splitMix is the generator SplitMix64 (Steele, Lea and Flood 2014).
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Fill writes pseudo-random bytes all over buf, the same for the same seed, at
// some gigabytes per second. It touches every page, so it also makes the
// operating system provide the memory. The race detector leaves it alone: buffers
// of gigabytes took it a quarter of a minute each.
//
//go:norace
func Fill(buf []byte, seed uint64) {
	words := splitMix(seed)
	for len(buf) >= 8 {
		binary.LittleEndian.PutUint64(buf, words.next())
		buf = buf[8:]
	}
	if len(buf) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], words.next())
		copy(buf, last[:])
	}
}
