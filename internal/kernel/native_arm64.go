package kernel

import (
	"math/bits"

	"bandmate.dev/bandmate/units"
)

// wholeLineZeroed is the value of DCZID_EL0 on processors where DC ZVA is
// permitted and zeroes 64 bytes: the logarithm of the number of 4-byte words,
// with the bit that prohibits it clear (Arm Architecture Reference Manual,
// DCZID_EL0).
const wholeLineZeroed = 4

// native returns the set NEON, which all 64-bit Arm processors have. Where DC
// ZVA cannot establish just one line, it does below a read share of 50% what
// the portable set does.
func native() []Set {
	set := Set{name: NEON, stream: streamEighths, blend: blendGeneric, randomBlend: randomBlendGeneric}
	if zeroBlock()&0x1f == wholeLineZeroed {
		set.storesWithoutReading = true
		set.blend, set.randomBlend = blendNEON, randomBlendNEON
	}
	return []Set{set}
}

func streamEighths(buf []byte, eighths, owed, step uint64, sum *line) {
	streamNEON(buf, &modifiedLines, eighths, owed, step, sum)
}

// randomBlendNEON is randomBlendGeneric with NEON and DC ZVA.
func randomBlendNEON(buf []byte, chains *chains, next, inFlight, lines, owed, step uint64, fill *line) {
	size := uint64(len(buf)) / units.LineBytes
	stores := diffusion{owed, step}
	for range lines {
		x := chains[next%MaxInFlight]
		index, _ := bits.Mul64(x, size)
		words := buf[index*units.LineBytes:]
		if stores.advance(1) == 0 {
			x ^= bump(words)
		} else {
			storeLineNEON(&words[0], fill)
			for i := range fill {
				fill[i] += increments[i]
			}
		}
		chains[next%MaxInFlight] = x*chainFactor + chainIncrement
		if next++; next == inFlight {
			next = 0
		}
	}
}
