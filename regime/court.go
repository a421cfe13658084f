package regime

import (
	"slices"
	"sync/atomic"
	"time"
)

// How much is played: about 0.4 ms within a complex, 2 ms across.
const (
	batches     = 31
	batchRounds = 200
)

// apart keeps a value out of the cache line of others and out of the adjacent
// line that some processors fetch along with it.
const apart = 128

// court is where two CPUs play: they take turns in counting one cache line up
// by compare-and-swap, so each turn moves the line once, with the right to
// write it. With plain loads and stores a turn costs a second message, to
// invalidate the other's copy, and round trips scatter twice as much.
type court struct {
	_    [apart]byte
	line atomic.Uint32
	_    [apart - 4]byte
	// closed ends the game early for both.
	closed atomic.Bool
	_      [apart - 4]byte
}

// serve plays the even turns and returns the median over the batches of a
// batch's mean round trip; false when the court closed first. The first batch
// only warms up.
func (c *court) serve() (time.Duration, bool) {
	times := make([]time.Duration, 0, batches)
	turn := uint32(0)
	for batch := range batches + 1 {
		start := time.Now()
		for range batchRounds {
			if !c.take(turn) {
				return 0, false
			}
			turn += 2
		}
		if batch > 0 {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return times[batches/2] / batchRounds, true
}

// answer plays the odd turns until all have been played or the court closed.
func (c *court) answer() {
	const turns = 2 * (batches + 1) * batchRounds
	for turn := uint32(1); turn < turns; turn += 2 {
		if !c.take(turn) {
			return
		}
	}
}

// take waits for a turn and takes it; false when the court closed first.
func (c *court) take(turn uint32) bool {
	for tries := 1; !c.line.CompareAndSwap(turn, turn+1); tries++ {
		if tries%1024 == 0 && c.closed.Load() {
			return false
		}
	}
	return true
}
