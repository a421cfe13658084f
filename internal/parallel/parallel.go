// Package parallel spreads independent work over the CPUs.
package parallel

import (
	"runtime"
	"sync"
)

// Each calls do for every number from 0 up to n, on as many goroutines as may run at
// once, and returns when all calls have.
func Each(n int, do func(i int)) { EachWith(n, func() func(int) { return do }) }

// EachWith is Each where every goroutine has a do of its own, such as one with memory
// that it uses again.
func EachWith(n int, newDo func() (do func(i int))) {
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
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
