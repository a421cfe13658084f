package capability_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestMergeSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "numbers")
		most := rapid.Uint32Range(1, 1<<32-1).Draw(t, "largest")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		numbers := make([]uint32, n)
		for i := range numbers {
			numbers[i] = random.Uint32N(most)
		}
		want := slices.Sorted(slices.Values(numbers))
		mergeSort(numbers, rapid.IntRange(1, 9).Draw(t, "threads"))
		if !slices.Equal(numbers, want) {
			t.Fatalf("got %v, want %v", numbers, want)
		}
	})
}

// The times to hold against bandmate capability sort.
func BenchmarkMergeSort(b *testing.B) {
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
						mergeSort(numbers, threads)
					}
				})
			}
		}
	}
}

// lineNumbers is the number of values in a cache line, the length of the lists that
// merging starts from.
const lineNumbers = 16

// mergeSort is the parallel merge sort that capability.Sorting models, to compare
// the model with. Each of so many threads sorts its part, then half of them merge,
// and so on.
//
// Ramos and Hoefler (2017, section V.B) merge with a bitonic network in vector
// instructions; this one compares number by number, so that comparing takes the
// larger part of its time where the data are in a cache.
func mergeSort(numbers []uint32, threads int) {
	parallel(numbers, make([]uint32, len(numbers)), threads, false)
}

// parallel sorts a; the result is in b if away, else in a.
func parallel(a, b []uint32, threads int, away bool) {
	if threads == 1 || len(a) <= lineNumbers {
		alone(a, b, away)
		return
	}
	middle := len(a) / 2
	var left sync.WaitGroup
	left.Go(func() { parallel(a[:middle], b[:middle], threads/2, !away) })
	parallel(a[middle:], b[middle:], threads-threads/2, !away)
	left.Wait()
	mergeHalves(a, b, middle, away)
}

// alone is parallel by one thread, depth first, so that short lists are merged
// while they are in a cache.
func alone(a, b []uint32, away bool) {
	if len(a) <= lineNumbers {
		insertion(a)
		if away {
			copy(b, a)
		}
		return
	}
	middle := len(a) / 2
	alone(a[:middle], b[:middle], !away)
	alone(a[middle:], b[middle:], !away)
	mergeHalves(a, b, middle, away)
}

// mergeHalves merges what lies in a into b if away, else from b into a.
func mergeHalves(a, b []uint32, middle int, away bool) {
	if away {
		merge(b, a[:middle], a[middle:])
		return
	}
	merge(a, b[:middle], b[middle:])
}

func merge(to, left, right []uint32) {
	i, j, k := 0, 0, 0
	for i < len(left) && j < len(right) {
		if left[i] <= right[j] {
			to[k] = left[i]
			i++
		} else {
			to[k] = right[j]
			j++
		}
		k++
	}
	k += copy(to[k:], left[i:])
	copy(to[k:], right[j:])
}

func insertion(a []uint32) {
	for i := 1; i < len(a); i++ {
		v, j := a[i], i
		for ; j > 0 && a[j-1] > v; j-- {
			a[j] = a[j-1]
		}
		a[j] = v
	}
}
