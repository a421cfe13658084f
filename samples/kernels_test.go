package samples

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTriadPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 0, 40).Draw(t, "y")
		z := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), len(y), len(y)).Draw(t, "z")
		x := make([]float64, len(y))
		triadPass(x, y, z, 3)
		for i := range x {
			if product := 3 * z[i]; x[i] != y[i]+product {
				t.Fatalf("element %d is %v, not %v", i, x[i], y[i]+product)
			}
		}
	})
}

func TestTriad(t *testing.T) {
	// v(n) = v(n−1) − v(n−2) has period 6, exactly for numbers in [1, 2): after
	// six passes vectors 1 and 2 hold their start again.
	k := newTriad(heap(1<<14), 300, 6)
	complete(t, k)
	for i := range 300 {
		first, second := triadStart(1, i), triadStart(2, i)
		for v, want := range []float64{first - second, first, second} {
			if got := k.vectors[v][i]; got != want {
				t.Errorf("vector %d, element %d is %v, not %v", v, i, got, want)
			}
		}
	}
	k.vectors[1][0]++
	wantWrong(t, k)
}

func TestCyclicOrder(t *testing.T) {
	for bits := 2; bits <= 12; bits++ {
		order := newCyclicOrder(bits)
		seen := make([]bool, 1<<bits)
		at := uint32(0)
		for step := range seen {
			if seen[at] {
				t.Fatalf("%d bits: %d visited again after %d steps", bits, at, step)
			}
			seen[at] = true
			if got := order.after(0, uint64(step)); got != at {
				t.Fatalf("%d bits: after %d steps at %d, not %d", bits, step, got, at)
			}
			at = order.next(at)
		}
		if at != 0 {
			t.Errorf("%d bits: the cycle ends at %d", bits, at)
		}
	}
}

func TestHideReveal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := newCyclicOrder(rapid.IntRange(2, 32).Draw(t, "bits"))
		i := rapid.Uint32().Draw(t, "i") & order.mask
		if got := order.reveal(order.hide(i)); got != i {
			t.Fatalf("%d became %d", i, got)
		}
	})
}

// A hardware prefetcher finds an order in which few distances recur.
func TestCyclicOrderHasNoStride(t *testing.T) {
	order := newCyclicOrder(chaseBits)
	count := map[int32]int{}
	at := uint32(0)
	for range 1 << 16 {
		next := order.next(at)
		count[int32(next-at)]++
		at = next
	}
	for distance, n := range count {
		if n > 16 {
			t.Errorf("distance %d occurs %d times in 65536 steps", distance, n)
		}
	}
}

func TestPointerChase(t *testing.T) {
	const bits = 10
	for _, loads := range []int{1, 1 << bits, 3*chaseStep + 17} {
		k := newPointerChase(heap(lineBytes<<bits+lineBytes), bits, loads)
		complete(t, k)
		want := uint32(0)
		for range loads {
			want = k.words[want]
		}
		if k.position != want {
			t.Errorf("%d loads: arrived at %d, not %d", loads, k.position, want)
		}
		k.position = k.words[k.position]
		wantWrong(t, k)
	}
}

func TestStencilSweep(t *testing.T) {
	const edge, side = 5, 7
	s := newStencil(heap(1<<14), edge, 1)
	for i := range s.from {
		s.from[i] = unitFloat(uint64(i))
	}
	s.sweep()
	for z := 1; z <= edge; z++ {
		for y := 1; y <= edge; y++ {
			for x := 1; x <= edge; x++ {
				sum := 0.0
				for _, d := range [][3]int{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}} {
					sum += s.from[((z+d[0])*side+y+d[1])*side+x+d[2]]
				}
				if got := s.to[(z*side+y)*side+x]; math.Abs(got-sum/6) > 1e-15 {
					t.Errorf("cell %d,%d,%d is %v, not %v", z, y, x, got, sum/6)
				}
			}
		}
	}
}

func TestStencil(t *testing.T) {
	k := newStencil(heap(1<<17), 16, 25)
	complete(t, k)
	k.sweep()
	k.from, k.to = k.to, k.from
	wantWrong(t, k)
}

func TestSortBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &radixSort{keys: rapid.SliceOf(rapid.Uint64()).Draw(t, "keys")}
		k.spare = make([]uint64, len(k.keys))
		round := rapid.IntRange(0, 5).Draw(t, "round")
		want := slices.Clone(k.keys)
		slices.SortStableFunc(want, func(a, b uint64) int { return cmp.Compare(rank(a, round), rank(b, round)) })
		var next digitCounts
		for _, key := range k.keys {
			k.counts[newDigit(round, 0).value(key)]++
			next[newDigit(round+1, 0).value(key)]++
		}
		if err := k.sortBy(context.Background(), round, &k.counts); err != nil || !slices.Equal(k.keys, want) {
			t.Fatalf("got %v, %v, want %v", k.keys, err, want)
		}
		if k.counts != next {
			t.Fatal("the digits of the next round are counted wrong")
		}
	})
}

func TestRadixSort(t *testing.T) {
	const n, rounds = 20_000, 3
	k := newRadixSort(heap(1<<19), n, rounds)
	want := slices.Clone(k.keys)
	complete(t, k)
	slices.SortFunc(want, func(a, b uint64) int { return cmp.Compare(rank(a, rounds-1), rank(b, rounds-1)) })
	if !slices.Equal(k.keys, want) {
		t.Error("the keys are not sorted by their ranks in the last round")
	}
	kept := k.keys[8]
	k.keys[7], k.keys[8] = k.keys[8], k.keys[7]
	wantWrong(t, k)
	k.keys[7], k.keys[8] = k.keys[8], kept-1
	wantWrong(t, k)
}

func TestFloatingPoint(t *testing.T) {
	chains := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}
	fmaRounds(&chains, 0.5, 3, 200)
	for i, got := range chains {
		if got != 6 {
			t.Errorf("chain %d ends at %v, not at the fixed point 6", i, got)
		}
	}
	k := newFloatingPoint(1)
	complete(t, k)
	k.chains[3] += 1e-3
	wantWrong(t, k)
}
