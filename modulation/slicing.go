package modulation

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// shortest is the length of a slice of a program whose count is fine.
	shortest = 4 * time.Millisecond
	// settling is long against the time in which a stream replaces what a cache of
	// 32 MiB holds, a millisecond, and in which a signal stops a program. What a
	// program takes to fill the cache again may be much longer: see LengthCheck.
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

const (
	// shortestLonger is the length of slices of which the second half shows most
	// programs with full caches: those that were seen took 5 to 10 ms to fill what
	// they use of a cache of 32 MiB.
	shortestLonger = 16 * time.Millisecond
	// lengthFactor is by how much longer slices are longer at least.
	lengthFactor = 2
)

// Longer returns slices of twice the length or more, of which the second half counts, for
// CheckLengths.
func (s Slicing) Longer() Slicing {
	length := max(shortestLonger, lengthFactor*s.Length)
	return Slicing{Length: length, Settle: max(s.Settle, length/2)}
}

// Max returns slices that are as long as the longer of s and t, and settle for as long as
// the slower of them.
func (s Slicing) Max(t Slicing) Slicing {
	return Slicing{Length: max(s.Length, t.Length), Settle: max(s.Settle, t.Settle)}
}

// LengthCheck compares the estimates from slices of two lengths.
type LengthCheck struct {
	Short, Long Estimate
	// Difference is the performance in long slices ÷ that in short ones - 1: below
	// 0 where a pressure takes more than a slice to have all of its effect.
	Difference float64
	// StandardError is that of Difference.
	StandardError float64
	// Slow says that they differ beyond noise and by more than 1%: short slices do
	// not show the whole effect.
	Slow bool
	// Enough says that short slices show the whole effect: one that is larger by 3%
	// in long ones would be more than a standard error away. Whoever may choose takes
	// long slices otherwise: where short ones were enough, all that costs is time.
	Enough bool
}

const (
	// lengthLevel is the probability with which noise alone makes a LengthCheck
	// report a difference.
	lengthLevel = 0.01
	// fewestDifference is the smallest that matters.
	fewestDifference = 0.01
	// enoughDifference is the largest that short slices may leave out.
	enoughDifference = 0.03
)

// CheckLengths compares readings of a comparison from slices of some length with
// those from Longer ones, taken in the same regime.
func CheckLengths(short, long []Reading, random *rand.Rand) LengthCheck {
	c := LengthCheck{Short: Summarize(short, random), Long: Summarize(long, random)}
	ratio := c.Long.Performance / c.Short.Performance
	c.Difference = ratio - 1
	c.StandardError = ratio * math.Hypot(c.Short.StandardError/c.Short.Performance, c.Long.StandardError/c.Long.Performance)
	// The smaller of the two samples bounds the degrees of freedom.
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(min(len(short), len(long))-1, 1))}
	c.Enough = c.Difference-c.StandardError > -enoughDifference
	c.Slow = math.Abs(c.Difference) > max(fewestDifference, t.Quantile(1-lengthLevel/2)*c.StandardError)
	return c
}
