// Package regime measures how near two CPUs are to each other, by the ping-pong
// latency of a cache line between them.
//
// A virtual machine's host moves virtual CPUs between core complexes every few
// seconds to minutes, which changes the cache and the link that two programs compete
// for. The regime is therefore probed before and after every sample. A sample is kept
// only when both probes agree, and never mixed with samples of another regime. A
// change that is reverted between the two probes goes unseen, so short samples are
// safer than long ones.
package regime

import (
	"fmt"
	"time"
)

// Class is how near two CPUs are.
type Class string

const (
	// SameCore is two SMT siblings: the line stays in their first-level cache.
	SameCore Class = "same-core"
	// SameComplex is two cores behind one last-level cache.
	SameComplex Class = "same-complex"
	// CrossComplex is two cores with a fabric between their last-level caches:
	// other core complexes, dies or sockets.
	CrossComplex Class = "cross-complex"
)

// Classes lists every class, nearest first.
func Classes() []Class { return []Class{SameCore, SameComplex, CrossComplex} }

// Round trips at which one class ends and the next begins. On a virtual machine
// of two CPUs (AMD EPYC of Zen 5), 19828 probes over seven minutes fell into
// three bands with nothing between them:
//
//	 28–37 ns   same core (4.2%), for 0.02 to 1.3 s at a time
//	 44–66 ns   same complex (95.3%)
//	249–272 ns  different complexes (0.5%), for 0.1 to 8 s at a time
//
// On two others (Intel Xeons, one last-level cache of 480 and of 105 MiB), probes fell into
// a single band: 6531 into 104 to 211 ns, 853 into 124 to 212 ns. A mesh is as slow as the
// fabric between complexes elsewhere, so the boundary depends on the processor.
//
// Published round trips by compare-and-swap (github.com/nviennot/core-to-core-latency,
// twice its one-way figures) agree: SMT siblings 9–20 ns, one last-level cache
// 32–144 ns, between complexes 168–310 ns, between sockets 216–400 ns. The fastest
// desktop processors (Zen 3, Skylake: 32–40 ns) read as one core; whether two tags are
// the same is unaffected.
const (
	sameCoreBelow    = 41 * time.Nanosecond
	sameComplexBelow = 150 * time.Nanosecond
	sameSocketBelow  = 215 * time.Nanosecond
)

// sameFactor is the highest ratio of two round trips of one regime: the widest band
// above spans a factor of 2, but nearly all of it one of 1.5, and a socket is about twice
// as far as a complex.
const sameFactor = 1.7

// Classify names the class of a round trip as Probe measures it. Complexes says that a
// socket of the processor consists of several core complexes; otherwise its cores share
// one last-level cache.
func Classify(roundTrip time.Duration, complexes bool) Class {
	near := sameSocketBelow
	if complexes {
		near = sameComplexBelow
	}
	switch {
	case roundTrip < sameCoreBelow:
		return SameCore
	case roundTrip < near:
		return SameComplex
	}
	return CrossComplex
}

// Tag is the regime of two CPUs at one moment.
type Tag struct {
	Class Class
	// RoundTrip is the time for a cache line to go to the other CPU and come
	// back: the tenth percentile over 31 batches of round trips.
	RoundTrip time.Duration
}

// Same reports whether t and u are one regime: the same class, and round trips
// within a factor of 1.7.
func (t Tag) Same(u Tag) bool {
	short, long := min(t.RoundTrip, u.RoundTrip), max(t.RoundTrip, u.RoundTrip)
	return t.Class == u.Class && float64(long) <= sameFactor*float64(short)
}

// String prints t as "same-complex (78ns)".
func (t Tag) String() string { return fmt.Sprintf("%s (%v)", t.Class, t.RoundTrip) }
