package mergesort_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/capability/mergesort"
)

func TestSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "numbers")
		most := rapid.Uint32Range(1, 1<<32-1).Draw(t, "largest")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		numbers := make([]uint32, n)
		for i := range numbers {
			numbers[i] = random.Uint32N(most)
		}
		want := slices.Sorted(slices.Values(numbers))
		if err := mergesort.Sort(numbers, rapid.IntRange(1, 9).Draw(t, "threads")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(numbers, want) {
			t.Fatalf("got %v, want %v", numbers, want)
		}
	})
}

func TestSortRefuses(t *testing.T) {
	for _, threads := range []int{0, -1, mergesort.MaxThreads + 1} {
		if err := mergesort.Sort(nil, threads); err == nil {
			t.Errorf("%d threads", threads)
		}
	}
}

// The times to hold against bandmate capability sort.
func BenchmarkSort(b *testing.B) {
	for _, bytes := range []int{1 << 10, 1 << 20, 64 << 20} {
		random := rand.New(rand.NewPCG(1, 1))
		numbers, original := make([]uint32, bytes/4), make([]uint32, bytes/4)
		for i := range original {
			original[i] = random.Uint32()
		}
		for _, input := range []string{"random", "sorted"} {
			if input == "sorted" {
				slices.Sort(original)
			}
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("bytes=%d/input=%s/threads=%d", bytes, input, threads), func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						copy(numbers, original)
						b.StartTimer()
						if err := mergesort.Sort(numbers, threads); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
