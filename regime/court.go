package regime

import (
	"slices"
	"sync/atomic"
	"time"
)

// How much is played: about 0.5 ms within a complex, 2.5 ms across.
const (
	batches     = 31
	batchRounds = 200
)

// apart keeps two values out of one cache line and out of the adjacent line
// that some processors fetch along with it.
const apart = 128

// court is where two CPUs play: the server writes serve, the receiver answers
// in reply. Each line has one writer.
type court struct {
	_     [apart]byte
	serve atomic.Uint32
	_     [apart - 4]byte
	reply atomic.Uint32
	_     [apart - 4]byte
	// closed ends the game early for both.
	closed atomic.Bool
	_      [apart - 4]byte
}

// play serves every round and returns the median over the batches of a batch's
// mean round trip; false when the court closed first. The first batch only
// warms up.
func (c *court) play() (time.Duration, bool) {
	times := make([]time.Duration, 0, batches)
	round := uint32(0)
	for batch := range batches + 1 {
		start := time.Now()
		for range batchRounds {
			round++
			c.serve.Store(round)
			if !c.await(&c.reply, round) {
				return 0, false
			}
		}
		if batch > 0 {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return times[batches/2] / batchRounds, true
}

// answer returns every serve until the last round has been played or the court
// closed.
func (c *court) answer() {
	for round := range uint32((batches + 1) * batchRounds) {
		if !c.await(&c.serve, round+1) {
			return
		}
		c.reply.Store(round + 1)
	}
}

// await spins until a line holds want; false when the court closed first.
func (c *court) await(line *atomic.Uint32, want uint32) bool {
	for spins := 1; line.Load() != want; spins++ {
		if spins%1024 == 0 && c.closed.Load() {
			return false
		}
	}
	return true
}
