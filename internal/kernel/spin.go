package kernel

import "time"

// pausesPerLook is how often Spin pauses between two looks at the clock: some
// microseconds on processors where PAUSE takes 140 cycles.
const pausesPerLook = 64

// Spin keeps this CPU busy for d (at least; a microsecond or so longer)
// without touching memory, and leaves the execution units to a sibling
// hardware thread. No time passes for d ≤ 0.
func Spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		pause(pausesPerLook)
	}
}
