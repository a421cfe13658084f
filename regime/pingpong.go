package regime

import (
	"slices"
	"sync/atomic"
	"time"
)

// How many round trips are timed: about 0.4 ms within a complex, 2 ms across.
const (
	batches     = 31
	batchRounds = 200
)

// padding keeps a value out of the cache line of others and out of the adjacent
// line that some processors fetch along with it.
const padding = 128

// pingPong is cache lines, one for each batch, that two CPUs increment in turn by
// compare-and-swap, so that each turn moves the line once. With plain loads and stores a
// turn needs a second message to invalidate the other copy, and round trips scatter twice
// as much.
//
// The address of a line decides which part of the last-level cache keeps track of it, and
// how far that is from both CPUs: on a mesh, one line takes twice as long as another.
type pingPong struct {
	_     [padding]byte
	lines [batches + 1]line
	// stopped ends the exchange early for both.
	stopped atomic.Bool
	_       [padding - 4]byte
}

// line is a cache line that has been incremented so many times.
type line struct {
	turns atomic.Uint32
	_     [padding - 4]byte
}

// initiate takes the even turns. It returns the tenth percentile over the batches of
// the mean round trip in a batch, by the clock now; false when the exchange was
// stopped. The first batch is the warm-up. Between distant CPUs a failed
// compare-and-swap can take the line away and make a turn cost one or two transfers
// more for a while: 480 ns become 750 and 1000. Such batches and interrupted ones
// only add to the distance.
func (p *pingPong) initiate(now func() time.Time) (time.Duration, bool) {
	times := make([]time.Duration, 0, batches)
	for batch := range p.lines {
		start := now()
		for round := range uint32(batchRounds) {
			if !p.take(batch, 2*round) {
				return 0, false
			}
		}
		if batch > 0 {
			times = append(times, now().Sub(start))
		}
	}
	slices.Sort(times)
	return times[batches/10] / batchRounds, true
}

// respond takes the odd turns until all are taken or the exchange is stopped.
func (p *pingPong) respond() {
	for batch := range p.lines {
		for round := range uint32(batchRounds) {
			if !p.take(batch, 2*round+1) {
				return
			}
		}
	}
}

// take waits for a turn of a batch and takes it; false when the exchange was stopped first.
func (p *pingPong) take(batch int, turn uint32) bool {
	for tries := 1; !p.lines[batch].turns.CompareAndSwap(turn, turn+1); tries++ {
		if tries%1024 == 0 && p.stopped.Load() {
			return false
		}
	}
	return true
}
