// Package mergesort is the parallel merge sort that capability.Sorting models, to
// compare the model with.
//
// Ramos and Hoefler (2017, section V.B) merge with a bitonic network in vector
// instructions; this one compares number by number, so that comparing takes the
// larger part of its time where the data are in a cache.
package mergesort

import (
	"fmt"
	"sync"
)

// lineNumbers is the number of values in a cache line, the length of the lists that
// merging starts from.
const lineNumbers = 16

// MaxThreads bounds the threads of Sort.
const MaxThreads = 4096

// Sort sorts numbers in ascending order with so many threads, 1 or more: each
// sorts its part, then half of them merge, and so on. It takes as much memory
// again for the other end of the merges.
func Sort(numbers []uint32, threads int) error {
	if threads < 1 || threads > MaxThreads {
		return fmt.Errorf("%d threads: want 1 to %d", threads, MaxThreads)
	}
	parallel(numbers, make([]uint32, len(numbers)), threads, false)
	return nil
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
