// Package parallel spreads independent work over the CPUs.
package parallel

import (
	"context"
	"runtime"
	"sync"
)

// Each calls do for every number from 0 up to n, on as many goroutines as may run at
// once, and returns when all calls have.
func Each(n int, do func(i int)) {
	_ = EachWith(context.Background(), n, func() func(int) { return do }) // never done
}

// EachWith is Each where every goroutine has a do of its own, such as one with memory
// that it uses again. It makes no more calls when ctx is done, and returns its error.
func EachWith(ctx context.Context, n int, newDo func() (do func(i int))) error {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			do := newDo()
			for i := range next {
				do(i)
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}
