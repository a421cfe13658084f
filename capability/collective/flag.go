package collective

import (
	"runtime"
	"sync/atomic"
)

// spread is the distance between what different threads write: two lines, because
// some processors fetch lines in pairs.
const spread = 128

// flag is a counter with lines of its own. One thread writes it.
type flag struct {
	count atomic.Uint64
	_     [spread - 8]byte
}

// patience is how often a flag is read before the thread yields its processor:
// often where every thread can have a processor, because yielding costs a thread
// that is locked to its goroutine a sleep; rarely where others cannot run before.
type patience int

func patienceOf(threads int) patience {
	if threads <= runtime.GOMAXPROCS(0) {
		return 1 << 14
	}
	return 1 << 4
}

// await reads a flag until it has reached a count.
func (p patience) await(at *atomic.Uint64, count uint64) {
	for n := patience(1); at.Load() < count; n++ {
		if n%p == 0 {
			runtime.Gosched()
		}
	}
}

// line is what a broadcast hands on and a reduction combines. With a flag it
// fills a cache line of 64 bytes.
type line [7]uint64

// slot is a line with its flag, in lines of its own.
type slot struct {
	count atomic.Uint64
	line  line
	_     [spread - 64]byte
}

// newEach makes flags or slots, each an object of its own: the allocator
// begins one of this size on a multiple of its size.
func newEach[T any](n int) []*T {
	all := make([]*T, n)
	for i := range all {
		all[i] = new(T)
	}
	return all
}
