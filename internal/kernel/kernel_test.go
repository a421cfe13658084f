package kernel

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// maxPages bounds the buffers of the property tests.
const maxPages = 24

// TestSetsAgree runs every set and the portable one over equal buffers: they
// leave the same bytes, the same checksums and the same state behind, whatever the
// gaps.
func TestSetsAgree(t *testing.T) {
	for _, set := range Available() {
		t.Run(set.Name(), func(t *testing.T) {
			buf, want := guarded(t, maxPages*ChunkAlign, 1), guarded(t, maxPages*ChunkAlign, 1)
			rapid.Check(t, func(t *rapid.T) {
				share := drawShare(t)
				mix, err := NewMix(share)
				if err != nil {
					t.Fatal(err)
				}
				reference := mix
				state := NewRandomState(rapid.Uint64().Draw(t, "seed"))
				referenceState := state
				for range rapid.IntRange(1, 5).Draw(t, "calls") {
					part := drawPages(t)
					gap := drawGap(t)
					if rapid.Bool().Draw(t, "random") {
						lines := rapid.IntRange(0, 300).Draw(t, "lines")
						inFlight := rapid.IntRange(0, MaxInFlight).Draw(t, "in flight")
						part.end = max(part.end, part.start+ChunkAlign)
						set.Random(buf[part.start:part.end], &mix, &state, lines, inFlight, gap)
						portable.Random(want[part.start:part.end], &reference, &referenceState, lines, inFlight, 0)
					} else {
						set.Sequential(buf[part.start:part.end], &mix, gap)
						portable.Sequential(want[part.start:part.end], &reference, 0)
					}
				}
				if !bytes.Equal(buf, want) {
					t.Fatalf("read share %v: contents differ from line %d on", share, firstDifference(buf, want)/units.LineBytes)
				}
				if mix != reference {
					t.Fatalf("read share %v: mix is %+v, want %+v", share, mix, reference)
				}
				if state != referenceState {
					t.Fatalf("read share %v: random state is %+v, want %+v", share, state, referenceState)
				}
			})
		})
	}
}

// TestTrafficIsWhatHappens compares the traffic of a pass with the lines that
// change and with the sum of the lines that must be loaded.
func TestTrafficIsWhatHappens(t *testing.T) {
	for _, set := range Available() {
		t.Run(set.Name(), func(t *testing.T) {
			buf := guarded(t, maxPages*ChunkAlign, 2)
			rapid.Check(t, func(t *rapid.T) {
				share := drawShare(t)
				mix, err := NewMix(share)
				if err != nil {
					t.Fatal(err)
				}
				part := drawPages(t)
				gap := drawGap(t)
				Fill(buf, rapid.Uint64().Draw(t, "contents"))
				before := bytes.Clone(buf)
				got := set.Sequential(buf[part.start:part.end], &mix, gap)

				if !bytes.Equal(before[:part.start], buf[:part.start]) || !bytes.Equal(before[part.end:], buf[part.end:]) {
					t.Fatalf("read share %v: bytes changed outside %+v", share, part)
				}
				before, after := before[part.start:part.end], buf[part.start:part.end]
				if changed := changedLines(before, after); got.WriteBytes != changed*units.LineBytes {
					t.Fatalf("read share %v: %d bytes written according to Sequential, %d lines changed", share, got.WriteBytes, changed)
				}
				loaded := uint64(len(before))
				if mix.below {
					loaded = (loaded/ChunkAlign - storedPages(share, loaded/ChunkAlign)) * ChunkAlign
				}
				if want := sumOf(before[:loaded]); mix.sum != want {
					t.Fatalf("read share %v: the loaded words sum up to %x, want %x", share, mix.sum, want)
				}
				if !mix.below || set.MinReadShare() == 0 {
					if got.ReadBytes != loaded {
						t.Fatalf("read share %v: %d bytes read according to Sequential, want %d", share, got.ReadBytes, loaded)
					}
				} else if got.ReadBytes != got.WriteBytes {
					t.Fatalf("read share %v: %d bytes read, %d written; want as many, every store reads", share, got.ReadBytes, got.WriteBytes)
				}
			})
		})
	}
}

// storedPages returns how many of the first pages a fresh mix of share stores.
func storedPages(share units.ReadShare, pages uint64) uint64 {
	fresh, err := NewMix(share)
	if err != nil {
		panic(err)
	}
	return fresh.pages.advance(pages)
}

// TestReadShareHolds checks that many calls add up to the share asked for, and
// that no call runs away from it.
func TestReadShareHolds(t *testing.T) {
	for _, set := range Available() {
		t.Run(set.Name(), func(t *testing.T) {
			buf := guarded(t, 4*ChunkAlign, 3)
			rapid.Check(t, func(t *rapid.T) {
				share := units.ReadShare(rapid.Float64Range(float64(set.MinReadShare()), 1).Draw(t, "share"))
				mix, err := NewMix(share)
				if err != nil {
					t.Fatal(err)
				}
				random := rapid.Bool().Draw(t, "random")
				inFlight := rapid.IntRange(0, MaxInFlight).Draw(t, "in flight")
				gap := drawGap(t)
				state := NewRandomState(4)
				var total Traffic
				for range 50 {
					if random {
						total = total.Add(set.Random(buf, &mix, &state, 10, inFlight, gap))
					} else {
						total = total.Add(set.Sequential(buf, &mix, gap))
					}
					// What is owed is less than a page of lines below 50%,
					// less than a group above, less than a line if random.
					owed := float64(units.LineBytes)
					switch {
					case !random && mix.below:
						owed = ChunkAlign
					case !random:
						owed *= GroupLines
					}
					want := float64(share) * float64(total.Total())
					if diff := math.Abs(float64(total.ReadBytes) - want); diff > owed {
						t.Fatalf("read share %v: %d of %d bytes are read, want %.0f", share, total.ReadBytes, total.Total(), want)
					}
				}
			})
		})
	}
}

// TestRandomVisits checks that random visits spread over all lines and change
// as many as declared.
func TestRandomVisits(t *testing.T) {
	const lines = 4096
	for _, set := range Available() {
		for _, inFlight := range []int{0, 1, 8, MaxInFlight} {
			buf := guarded(t, lines*units.LineBytes, 5)
			before := bytes.Clone(buf)
			mix, err := NewMix(0.5)
			if err != nil {
				t.Fatal(err)
			}
			state := NewRandomState(6)
			got := set.Random(buf, &mix, &state, lines, inFlight, 0)
			if want := (Traffic{lines * units.LineBytes, lines * units.LineBytes}); got != want {
				t.Errorf("%s, %d in flight: traffic %+v, want %+v", set.Name(), inFlight, got, want)
			}
			// Of n random visits to n lines, 1 − 1/e are to distinct ones.
			share := float64(changedLines(before, buf)) / lines
			if math.Abs(share-(1-1/math.E)) > 0.03 {
				t.Errorf("%s, %d in flight: %.3f of the lines visited, want 0.632", set.Name(), inFlight, share)
			}
			for i := range 4 {
				quarter := len(buf) / 4
				part := float64(changedLines(before[i*quarter:][:quarter], buf[i*quarter:][:quarter])) / (lines / 4)
				if math.Abs(part-(1-1/math.E)) > 0.06 {
					t.Errorf("%s, %d in flight: %.3f of quarter %d visited, want 0.632", set.Name(), inFlight, part, i)
				}
			}
		}
	}
}

// TestContentsStayRandom guards against kernels whose traffic a memory system
// could elide: after many passes, hardly any word is zero or equals its
// neighbor.
func TestContentsStayRandom(t *testing.T) {
	for _, set := range Available() {
		for _, share := range []units.ReadShare{0, 0.25, 0.5, 0.75} {
			buf := guarded(t, 4*ChunkAlign, 7)
			mix, err := NewMix(share)
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				set.Sequential(buf, &mix, 0)
			}
			counts := make([]int, 256)
			for _, b := range buf {
				counts[b]++
			}
			var entropy float64
			for _, n := range counts {
				if p := float64(n) / float64(len(buf)); p > 0 {
					entropy -= p * math.Log2(p)
				}
			}
			if entropy < 7.9 {
				t.Errorf("%s at %v reads: %.2f bits of entropy per byte left, want 8", set.Name(), share, entropy)
			}
		}
	}
}

func drawShare(t *rapid.T) units.ReadShare {
	return units.ReadShare(rapid.OneOf(
		rapid.Float64Range(0, 1),
		rapid.SampledFrom([]float64{0, 0.25, 0.5, 8. / 15, 2. / 3, 0.75, 8. / 9, 1}),
	).Draw(t, "share"))
}

func drawGap(t *rapid.T) Gap { return Gap(rapid.SampledFrom([]uint32{0, 1, 20}).Draw(t, "gap")) }

type span struct{ start, end int }

func drawPages(t *rapid.T) span {
	start := rapid.IntRange(0, maxPages-1).Draw(t, "start")
	end := rapid.IntRange(start, maxPages).Draw(t, "end")
	return span{start * ChunkAlign, end * ChunkAlign}
}

func changedLines(before, after []byte) uint64 {
	var n uint64
	for i := 0; i < len(before); i += units.LineBytes {
		if !bytes.Equal(before[i:i+units.LineBytes], after[i:i+units.LineBytes]) {
			n++
		}
	}
	return n
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func sumOf(buf []byte) line {
	var sum line
	for ; len(buf) > 0; buf = buf[units.LineBytes:] {
		load(buf, &sum)
	}
	return sum
}
