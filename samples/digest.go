package samples

import "math"

// golden is 2^64 ÷ the golden ratio, odd: its multiples are spread evenly over
// the 64-bit numbers (Weyl sequence).
const golden = 0x9e3779b97f4a7c15

// scramble is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): a
// bijection of the 64-bit numbers in which every input bit affects every
// output bit.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// digest is a checksum that depends on the order of what is added.
type digest uint64

func (d *digest) add(x uint64) { *d = digest(scramble(uint64(*d) + golden + x)) }

func (d *digest) addFloat(x float64) { d.add(math.Float64bits(x)) }

// unitFloat returns element i of a fixed sequence in [1, 2).
func unitFloat(i uint64) float64 {
	return math.Float64frombits((i*golden)>>12 | 0x3ff0_0000_0000_0000)
}
