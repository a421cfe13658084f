// Package kernel holds the loops that make memory traffic: they touch every
// line of a buffer in such a way that the traffic at the memory controller is
// known by counting lines.
//
// # Line accounting
//
// The buffer is much larger than the last-level cache (8 times is enough), so
// that every line a kernel loads was evicted since the last visit. Then
//
//   - loading a line costs one read;
//   - loading and modifying it in place costs one read, and one write when the
//     cache evicts the dirty line;
//   - a non-temporal store of a whole line costs one write.
//
// A read share r of at least 50% is made by loading every line and modifying
// the fraction 1/r − 1 of them in place. Below 50%, every line is written:
// the fraction (1 − 2r)/(1 − r) with non-temporal stores, the others in place.
// Which lines are modified is decided line by line by error diffusion
// ([Mix]), so that any stretch of a few lines has the read share asked for.
//
// # Honest traffic
//
// Memory systems elide what they can: a stream of zeros needs no transfer on
// some of them, and a prefetch may be dropped. So the buffer holds random
// bytes ([Fill]), a modified line stays random (a constant is added to each of
// its words), loads are real loads, and every loaded word ends in a checksum
// that outlives the call.
//
// # Preemption
//
// The Go runtime cannot preempt assembly. Callers hand over chunks of 16 to 64
// KiB, which take about a microsecond; smaller ones waste time on calls, larger
// ones delay garbage collection and timers.
package kernel
