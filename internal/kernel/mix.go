package kernel

import (
	"fmt"
	"math"
	"math/bits"

	"bandmate.dev/bandmate/units"
)

// lineWords is the number of 64-bit words in a line.
const lineWords = units.LineBytes / 8

// GroupLines is the number of lines between two decisions of the sequential
// diffusion, and between two gaps. The assembly has a loop for every number of
// modified lines among them; deciding line by line costs up to 4% of the bandwidth in
// mispredicted branches.
const GroupLines = 8

// groupBytes is the length of a group.
const groupBytes = GroupLines * units.LineBytes

// half is where a diffusion begins: the first mark comes after half the
// distance between two marks.
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

// Mix spreads the writes of a read share over lines by error diffusion: what
// is owed is carried on to the next call, so that the share holds over
// any number of calls, to less than 8 lines with [Set.Sequential] and less than
// one with [Set.Random]; to less than a page with Sequential below 50%.
//
// A Mix belongs to one goroutine; a copy continues on its own. The zero Mix
// has no read share and must not be used: see [NewMix].
type Mix struct {
	// below says that the share is under 50%, which takes non-temporal stores.
	below bool
	// eighths is the number of lines modified in every group of 8, but for
	// those groups marked by the diffusion groups, which have one more.
	eighths uint64
	groups  diffusion
	// pages marks the pages to store without loading; only if below.
	pages diffusion
	// visits marks the random lines to modify or, if below, to store without
	// loading.
	visits diffusion
	// fill is the content of the next line stored without loading.
	fill line
	// sum collects every loaded word, so that no load is dead.
	sum line
}

// line is the content of a cache line.
type line = [lineWords]uint64

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
	m := Mix{below: r < 0.5, fill: increments}
	if m.below {
		stored := (1 - 2*r) / (1 - r)
		m.pages, m.visits = newDiffusion(stored), newDiffusion(stored)
		return m, nil
	}
	changed := 1/r - 1
	whole := min(math.Floor(GroupLines*changed), GroupLines-1)
	m.eighths = uint64(whole)
	m.groups = newDiffusion(GroupLines*changed - whole)
	m.visits = newDiffusion(changed)
	return m, nil
}

// diffusion marks a fraction of a sequence of things, evenly spread.
type diffusion struct {
	// owed and step are fractions in units of 2⁻⁶⁴: step is added to owed for
	// every thing, which is marked if that carries.
	owed, step uint64
}

// newDiffusion marks a fraction from 0 to 1; with 1, all of the first 2⁶³.
func newDiffusion(fraction float64) diffusion {
	d := diffusion{owed: half, step: math.MaxUint64}
	if scaled := math.Ldexp(fraction, 64); scaled < math.MaxUint64 {
		d.step = uint64(scaled)
	}
	return d
}

// exactly marks part of every whole things, part ≤ whole.
func exactly(part, whole uint64) diffusion {
	d := diffusion{owed: half, step: math.MaxUint64}
	if part < whole {
		d.step, _ = bits.Div64(part, 0, whole)
	}
	return d
}

// advance returns how many of the next n things are marked.
func (d *diffusion) advance(n uint64) uint64 {
	hi, lo := bits.Mul64(d.step, n)
	var carry uint64
	d.owed, carry = bits.Add64(lo, d.owed, 0)
	return hi + carry
}
