package samples

// cyclicOrder is a permutation of the numbers below 2^bits that is one single
// cycle and looks random. It is computed, not shuffled, so a chain can be laid
// out front to back, and the place after any number of steps is known without
// walking.
//
// It is a linear congruential sequence i → a·i + c modulo 2^bits, of full
// period by the theorem of Hull and Dobell (1962), seen through a bijection
// that hides the regular low bits.
type cyclicOrder struct {
	mask    uint32
	shift   uint
	inverse uint32 // of orderMultiplier modulo 2^32
}

const (
	orderMultiplier = 0x2c1b3c6d
	orderA          = 1664525    // ≡ 1 modulo 4
	orderC          = 1013904223 // odd
)

// newCyclicOrder returns the order of 2^bits numbers, bits from 2 to 32.
func newCyclicOrder(bits int) cyclicOrder {
	inverse := uint32(orderMultiplier)
	for range 5 { // Newton: every round doubles the number of right bits, from 3.
		inverse *= 2 - orderMultiplier*inverse
	}
	return cyclicOrder{
		mask:    uint32(1<<bits - 1),
		shift:   uint(bits+1) / 2,
		inverse: inverse,
	}
}

// hide and reveal are inverse to each other: a shift by at least half of the
// bits undoes itself, an odd multiplier has an inverse.
func (o cyclicOrder) hide(i uint32) uint32 {
	i ^= i >> o.shift
	i = i * orderMultiplier & o.mask
	return i ^ i>>o.shift
}

func (o cyclicOrder) reveal(i uint32) uint32 {
	i ^= i >> o.shift
	i = i * o.inverse & o.mask
	return i ^ i>>o.shift
}

// next returns the number that follows i.
func (o cyclicOrder) next(i uint32) uint32 {
	return o.hide((orderA*o.reveal(i) + orderC) & o.mask)
}

// after returns the number n steps after i, by repeated squaring of the
// affine map.
func (o cyclicOrder) after(i uint32, n uint64) uint32 {
	x := o.reveal(i)
	for a, c := uint32(orderA), uint32(orderC); n > 0; n >>= 1 {
		if n&1 == 1 {
			x = a*x + c
		}
		a, c = a*a, a*c+c
	}
	return o.hide(x & o.mask)
}
