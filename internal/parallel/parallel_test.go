package parallel_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bandmate.dev/bandmate/internal/parallel"
)

func TestEachDoesEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		done := make([]int, n)
		parallel.Each(n, func(i int) { done[i]++ })
		if slices.ContainsFunc(done, func(times int) bool { return times != 1 }) {
			t.Errorf("%d: %v", n, done)
		}
	}
}

func TestEachWithMakesOneForEachGoroutine(t *testing.T) {
	var mu sync.Mutex
	var made, total int
	parallel.EachWith(100, func() func(int) {
		mu.Lock()
		defer mu.Unlock()
		made++
		own := 0 // the race detector reports a goroutine that shares it
		return func(int) {
			own++
			mu.Lock()
			total++
			mu.Unlock()
		}
	})
	if made == 0 || made > 100 || total != 100 {
		t.Errorf("%d made, %d calls", made, total)
	}
}

func TestWriteRowsInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		var got, want strings.Builder
		err := parallel.WriteRows(&got, n, func(to []byte, i int) []byte { return strconv.AppendInt(append(to, ' '), int64(i), 10) })
		for i := range n {
			fmt.Fprintf(&want, " %d", i)
		}
		if err != nil || got.String() != want.String() {
			t.Errorf("%d rows: %q, %v", n, &got, err)
		}
	}
}
