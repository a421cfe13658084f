package kernel

import (
	"fmt"
	"math"
	"math/bits"

	"bandmate.dev/bandmate/units"
)

// lineWords is the number of 64-bit words in a line.
const lineWords = units.LineBytes / 8

// half is the starting point of every error diffusion: the first line to be
// marked comes after half the distance between two of them.
const half = 1 << 63

// Traffic is what a kernel caused at the memory controller, in bytes, by the
// line accounting of the package comment.
type Traffic struct {
	ReadBytes, WriteBytes uint64
}

// Add returns the sum of t and other.
func (t Traffic) Add(other Traffic) Traffic {
	return Traffic{
		ReadBytes:  t.ReadBytes + other.ReadBytes,
		WriteBytes: t.WriteBytes + other.WriteBytes,
	}
}

// Total returns reads plus writes in bytes.
func (t Traffic) Total() uint64 { return t.ReadBytes + t.WriteBytes }

// Mix spreads the writes of a read share over lines by error diffusion: a
// fraction of a line that is owed is carried to the next line and to the next
// call, so that the share holds over any number of calls, to less than a line
// (to less than a page where non-temporal stores are used sequentially).
//
// A Mix belongs to one goroutine; a copy continues on its own. The zero Mix
// has no read share and must not be used: see [NewMix].
type Mix struct {
	share units.ReadShare
	// below says that the share is under 50%, which takes non-temporal stores.
	below bool
	// step is the marked fraction of the lines in units of 2⁻⁶⁴: of lines to
	// modify, or, if below, of lines to store without loading. All lines are
	// 2⁶⁴−1, which together with the start at half marks every line of the
	// first 2⁶³.
	step uint64
	// owed is the fraction of a line not yet marked, in units of 2⁻⁶⁴.
	owed uint64
	// fill is the content of the next non-temporal line.
	fill line
	// sum collects every loaded word, so that no load is dead.
	sum line
}

// line is the content of a cache line.
type line [lineWords]uint64

// increments are added to a line when it is modified: odd, so that the words
// walk through all 2⁶⁴ values, and without long runs of equal bits. They are
// consecutive outputs of SplitMix64 seeded with 0, with the lowest bit set.
var increments = line{
	0xe220a8397b1dcdaf, 0x6e789e6aa1b965f5, 0x06c45d188009454f, 0xf88bb8a8724c81ed,
	0x1b39896a51a8749b, 0x53cb9f0c747ea2eb, 0x2c829abe1f4532e1, 0xc584133ac916ab3d,
}

// NewMix returns the mix for a read share from 0 to 1; another share is an
// error.
func NewMix(share units.ReadShare) (Mix, error) {
	if !share.Valid() {
		return Mix{}, fmt.Errorf("read share %v: want 0 to 1", float64(share))
	}
	r := float64(share)
	m := Mix{share: share, below: r < 0.5, owed: half, fill: increments}
	if m.below {
		m.step = fixedPoint((1 - 2*r) / (1 - r))
	} else {
		m.step = fixedPoint(1/r - 1)
	}
	return m, nil
}

// ReadShare returns the share that m was made for.
func (m *Mix) ReadShare() units.ReadShare { return m.share }

// mark returns how many of the next n units are marked, and carries the rest.
func (m *Mix) mark(n uint64) uint64 {
	marked, owed := diffuse(m.owed, m.step, n)
	m.owed = owed
	return marked
}

// diffuse advances an error diffusion by n steps and returns the number of
// marks and what is owed after them.
func diffuse(owed, step, n uint64) (marks, rest uint64) {
	hi, lo := bits.Mul64(step, n)
	rest, carry := bits.Add64(lo, owed, 0)
	return hi + carry, rest
}

// fixedPoint converts a fraction from 0 to 1 to units of 2⁻⁶⁴, 1 to 2⁶⁴−1.
func fixedPoint(fraction float64) uint64 {
	scaled := math.Ldexp(fraction, 64)
	if scaled >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(scaled)
}

// quotient returns part ÷ whole, 0 to 1, in units of 2⁻⁶⁴, rounded down. Over
// whole steps from half, its diffusion marks exactly part.
func quotient(part, whole uint64) uint64 {
	if part >= whole {
		return math.MaxUint64
	}
	q, _ := bits.Div64(part, 0, whole)
	return q
}
