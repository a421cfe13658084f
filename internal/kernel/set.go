package kernel

import (
	"fmt"
	"unsafe"

	"bandmate.dev/bandmate/units"
)

// ChunkAlign is the granularity of the buffers of [Set.Sequential] in bytes.
const ChunkAlign = 4096

// Names of the sets.
const (
	AVX512  = "avx512"
	AVX2    = "avx2"
	NEON    = "neon"
	Generic = "generic"
)

// Set is one implementation of the kernels, for one instruction set. All sets
// do the same to a buffer, bit for bit. The zero Set must not be used: see
// [Best].
type Set struct {
	name string
	// storesWithoutReading says that blend and randomBlend store lines
	// without reading them first.
	storesWithoutReading bool

	// stream loads every line of buf and modifies eighths of every 8, or one
	// more in the groups where the diffusion (owed, step) carries.
	stream func(buf []byte, eighths, owed, step uint64, sum *line)
	// blend passes over both buffers side by side: it loads and modifies every
	// line of change and overwrites every line of store with fill. The
	// diffusion carries where the next line is one of store.
	blend func(change, store []byte, owed, step uint64, fill, sum *line)
	// randomBlend visits lines of buf, the chains in turn from next on. It
	// overwrites those with fill on which the diffusion carries, and modifies
	// the others.
	randomBlend func(buf []byte, chains *chains, next, inFlight, lines, owed, step uint64, fill *line)
}

// Available returns the sets that this CPU and its operating system support,
// the fastest first, the portable one last.
func Available() []Set { return append(native(), portable) }

// Best returns the fastest set.
func Best() Set { return Available()[0] }

// Name returns "avx512", "avx2", "neon" or "generic".
func (s Set) Name() string { return s.name }

// MinReadShare returns the lowest read share that s can make: 0 where it can
// store a line without reading it, otherwise 50%. A Mix below that is accepted;
// the Traffic returned then says what really happens, 50%.
func (s Set) MinReadShare() units.ReadShare {
	if s.storesWithoutReading {
		return 0
	}
	return 0.5
}

// Sequential passes once over buf, with a gap after every [GroupLines] lines, and
// returns the traffic that this causes. The buffer starts on a line and is a
// multiple of [ChunkAlign] long, else Sequential panics; one of no length causes no
// traffic. It cannot be preempted, and the next call best continues behind buf: see
// the package comment.
func (s Set) Sequential(buf []byte, mix *Mix, gap Gap) Traffic {
	mustBeAligned(buf, ChunkAlign)
	if mix.below {
		return s.blendChunk(buf, mix, gap)
	}
	if gap == 0 {
		return s.streamChunk(buf, mix)
	}
	var total Traffic
	for len(buf) > 0 {
		total = total.Add(s.streamChunk(buf[:groupBytes], mix))
		buf = buf[groupBytes:]
		gap.idle()
	}
	return total
}

func (s Set) streamChunk(buf []byte, mix *Mix) Traffic {
	lines := uint64(len(buf)) / units.LineBytes
	before := mix.groups
	modified := mix.eighths*(lines/GroupLines) + mix.groups.advance(lines/GroupLines)
	s.stream(buf, mix.eighths, before.owed, before.step, &mix.sum)
	return traffic(lines, modified)
}

// blendChunk is Sequential below 50% reads. Loaded and stored lines lie on pages of
// their own: a hardware prefetcher would read the stored ones too if they lay in
// between.
func (s Set) blendChunk(buf []byte, mix *Mix, gap Gap) Traffic {
	lines := uint64(len(buf)) / units.LineBytes
	storedPages := mix.pages.advance(uint64(len(buf)) / ChunkAlign)
	first := len(buf) - int(storedPages)*ChunkAlign
	change, store := buf[:first], buf[first:]
	stored := storedPages * (ChunkAlign / units.LineBytes)
	turns := exactly(stored, max(lines, 1))
	group := lines
	if gap > 0 {
		group = GroupLines
	}
	for range lines / max(group, 1) {
		before := turns
		stores := int(turns.advance(group)) * units.LineBytes
		changes := int(group)*units.LineBytes - stores
		s.blend(change[:changes], store[:stores], before.owed, before.step, &mix.fill, &mix.sum)
		change, store = change[changes:], store[stores:]
		gap.idle()
	}
	return s.blended(lines, stored)
}

// Random visits lines of buf in pseudo-random order, with a gap after every
// [GroupLines] of them, independent of each other by groups of inFlight: the address of a visit depends on what was loaded
// inFlight visits ago. With an inFlight of 0 it depends on nothing, and the
// processor has as many visits in flight as it can, as when a program gathers
// elements by an index; below 50% reads that means [MaxInFlight]. The buffer
// starts on a line and is a multiple of 64 bytes long and not empty, and
// inFlight lies within 0 and MaxInFlight, else Random panics. It cannot be
// preempted: a thousand lines are a good chunk.
func (s Set) Random(buf []byte, mix *Mix, state *RandomState, lines, inFlight int, gap Gap) Traffic {
	mustBeAligned(buf, units.LineBytes)
	if len(buf) == 0 || lines < 0 || inFlight < 0 || inFlight > MaxInFlight {
		//nolint:forbidigo // a programmer's mistake, as documented
		panic(fmt.Sprintf("kernel: Random on %d bytes, %d lines, %d in flight", len(buf), lines, inFlight))
	}
	left, group := uint64(lines), uint64(lines)
	if gap > 0 {
		group = GroupLines
	}
	var total Traffic
	for left > group {
		total = total.Add(s.visit(buf, mix, state, group, inFlight))
		left -= group
		gap.idle()
	}
	return total.Add(s.visit(buf, mix, state, left, inFlight))
}

// visit is Random without gaps.
func (s Set) visit(buf []byte, mix *Mix, state *RandomState, visits uint64, inFlight int) Traffic {
	before := mix.visits
	marked := mix.visits.advance(visits)
	if inFlight == 0 {
		if !mix.below {
			state.scatter(buf, visits, before, &mix.sum[0])
			return traffic(visits, marked)
		}
		inFlight = MaxInFlight
	}
	next := state.turn(visits, uint64(inFlight))
	if !mix.below {
		randomStream(buf, &state.chains, next, uint64(inFlight), visits, before)
		return traffic(visits, marked)
	}
	s.randomBlend(buf, &state.chains, next, uint64(inFlight), visits, before.owed, before.step, &mix.fill)
	return s.blended(visits, marked)
}

// blended accounts for lines that are all written, stored of them unread if s
// can do that.
func (s Set) blended(lines, stored uint64) Traffic {
	if !s.storesWithoutReading {
		stored = 0
	}
	return traffic(lines-stored, lines)
}

func traffic(readLines, writtenLines uint64) Traffic {
	return Traffic{
		ReadBytes:  readLines * units.LineBytes,
		WriteBytes: writtenLines * units.LineBytes,
	}
}

func mustBeAligned(buf []byte, multiple int) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	if len(buf)%multiple != 0 || start%units.LineBytes != 0 {
		//nolint:forbidigo // a programmer's mistake, as documented
		panic(fmt.Sprintf("kernel: buffer of %d bytes at %#x: want a multiple of %d bytes from a multiple of %d on",
			len(buf), start, multiple, units.LineBytes))
	}
}
