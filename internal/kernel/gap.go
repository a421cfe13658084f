package kernel

import "time"

// Gap is how long a kernel keeps away from memory after every [GroupLines] lines, in
// steps of [GapStep]; 0 means not at all. Without gaps a chunk is a burst at full
// bandwidth, whatever the bandwidth on average. With gaps the lines are spread as
// those of an application are, which computes between its loads.
type Gap uint32

// idle takes g steps. It executes no PAUSE, which takes 140 cycles on some
// processors: gaps are shorter.
//
//go:noinline
func (g Gap) idle() {
	for range g {
	}
}

const (
	// stepsTimed is how many steps are timed at once.
	stepsTimed = 20_000
	// stepReadings is how often they are.
	stepReadings = 5
)

// GapStep returns how many nanoseconds a step of a [Gap] takes on this CPU, which is
// a cycle or so. Finding out takes some 50 µs.
func GapStep() float64 {
	shortest := time.Duration(1<<63 - 1)
	for range stepReadings {
		start := time.Now()
		Gap(stepsTimed).idle()
		shortest = min(shortest, time.Since(start))
	}
	return float64(shortest.Nanoseconds()) / stepsTimed
}
