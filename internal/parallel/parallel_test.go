package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	err := parallel.EachWith(t.Context(), 100, func() func(int) {
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
	if err != nil || made == 0 || made > 100 || total != 100 {
		t.Errorf("%d made, %d calls, %v", made, total, err)
	}
}

func TestEachWithStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	err := parallel.EachWith(ctx, 1e6, func() func(int) {
		return func(int) {
			if calls.Add(1) >= 10 {
				cancel()
			}
		}
	})
	if !errors.Is(err, context.Canceled) || calls.Load() > 1000 {
		t.Errorf("%d calls, %v", calls.Load(), err)
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
