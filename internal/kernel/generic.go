package kernel

import (
	"encoding/binary"
	"math/bits"

	"bandmate.dev/bandmate/units"
)

// portable is the reference that the other sets are tested against.
var portable = Set{
	name:        Generic,
	stream:      streamGeneric,
	blend:       blendGeneric,
	randomBlend: randomBlendGeneric,
}

// modifiedLines[k] has bit i set if line i of a group is modified when k of
// them are. They are spread evenly: (i+1)·k÷8 rounds to more than i·k÷8.
var modifiedLines = [GroupLines + 1]uint64{
	0b00000000, 0b00001000, 0b00100010, 0b01001010, 0b01010101,
	0b10101101, 0b10111011, 0b11101111, 0b11111111,
}

func streamGeneric(buf []byte, eighths, owed, step uint64, sum *line) {
	s := *sum
	for len(buf) > 0 {
		var carry uint64
		owed, carry = bits.Add64(owed, step, 0)
		for which := modifiedLines[eighths+carry] | 1<<GroupLines; which != 1; which >>= 1 {
			if which&1 == 0 {
				load(buf, &s)
			} else {
				modify(buf, &s)
			}
			buf = buf[units.LineBytes:]
		}
	}
	*sum = s
}

func blendGeneric(change, store []byte, owed, step uint64, fill, sum *line) {
	f, s := *fill, *sum
	for len(change)+len(store) > 0 {
		var carry uint64
		if owed, carry = bits.Add64(owed, step, 0); carry == 0 {
			modify(change, &s)
			change = change[units.LineBytes:]
		} else {
			overwrite(store, &f)
			store = store[units.LineBytes:]
		}
	}
	*fill, *sum = f, s
}

func randomBlendGeneric(buf []byte, chains *chains, next, inFlight, lines, owed, step uint64, fill *line) {
	size := uint64(len(buf)) / units.LineBytes
	for range lines {
		x := chains[next%MaxInFlight]
		index, _ := bits.Mul64(x, size)
		words := buf[index*units.LineBytes:]
		var carry uint64
		if owed, carry = bits.Add64(owed, step, 0); carry == 0 {
			x ^= bump(words)
		} else {
			overwrite(words, fill)
		}
		chains[next%MaxInFlight] = x*chainFactor + chainIncrement
		if next++; next == inFlight {
			next = 0
		}
	}
}

// load adds the words of the first line of buf to sum.
func load(buf []byte, sum *line) {
	l := buf[:units.LineBytes]
	for i := range sum {
		sum[i] += binary.LittleEndian.Uint64(l[i*8:])
	}
}

// modify adds the words of the first line of buf to sum, and the increments to
// them.
func modify(buf []byte, sum *line) {
	l := buf[:units.LineBytes]
	for i := range sum {
		v := binary.LittleEndian.Uint64(l[i*8:])
		sum[i] += v
		binary.LittleEndian.PutUint64(l[i*8:], v+increments[i])
	}
}

// overwrite replaces the first line of buf by fill, and adds the increments to
// fill.
func overwrite(buf []byte, fill *line) {
	l := buf[:units.LineBytes]
	for i, v := range fill {
		binary.LittleEndian.PutUint64(l[i*8:], v)
		fill[i] = v + increments[i]
	}
}

// bump modifies the first word of buf and returns what it was.
func bump(buf []byte) uint64 {
	v := binary.LittleEndian.Uint64(buf)
	binary.LittleEndian.PutUint64(buf, v+increments[0])
	return v
}
