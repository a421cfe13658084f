package modulation

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// shortest is the length of a slice of a program whose count is fine.
	shortest = 4 * time.Millisecond
	// settling is long against the time in which a stream replaces what a cache of
	// 32 MiB holds, a millisecond, and in which a signal stops a program. What a
	// program takes to fill the cache again may be much longer: see Choosing.
	settling = 1500 * time.Microsecond
	// stepsPerSlice is how many steps of a count a slice holds after settling, so
	// that the time of a single one does not matter much.
	stepsPerSlice = 10
	// longest bounds a slice: beyond it the machine changes within a block as much
	// as between two.
	longest = 200 * time.Millisecond
)

// ErrTooSlow is wrapped when a count grows too rarely for slices.
var ErrTooSlow = errors.New("the count grows too rarely")

// SlicingFor returns the slices for a count that grows so many times per second:
// 4 ms, or as long as it takes to see ten steps. Counts of 600 steps per second and
// more fit the 20 ms within which a machine hardly changes; fewer steps make longer
// slices, which take longer to reach the same precision. The error wraps ErrTooSlow
// below 51 steps per second.
func SlicingFor(stepsPerSecond float64) (Slicing, error) {
	seconds := stepsPerSlice / stepsPerSecond
	if !(seconds <= (longest - settling).Seconds()) || seconds < 0 {
		return Slicing{}, fmt.Errorf("%w: %.3g times per second, want %.0f or more",
			ErrTooSlow, stepsPerSecond, math.Ceil(stepsPerSlice/(longest-settling).Seconds()))
	}
	length := settling + time.Duration(math.Ceil(seconds*1e6))*time.Microsecond
	return Slicing{Length: max(shortest, length), Settle: settling}, nil
}

// counted is the part of a slice that counts.
func (s Slicing) counted() time.Duration { return s.Length - s.Settle }

// Max returns slices that settle for as long as the slower of s and t, and then count for as
// long as the longer of them.
func (s Slicing) Max(t Slicing) Slicing {
	settle := max(s.Settle, t.Settle)
	return Slicing{Length: settle + max(s.counted(), t.counted()), Settle: settle}
}
