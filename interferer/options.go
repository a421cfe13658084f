package interferer

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// Defaults of [Options].
const (
	// DefaultLastLevelCacheBytes is assumed where the cache size is unknown.
	DefaultLastLevelCacheBytes = 32 << 20
	// DefaultMaxDuration is how long a forgotten interferer lives.
	DefaultMaxDuration = time.Hour
)

// CacheMultiple is how many times larger than the last-level cache the buffers
// are by default, so that a line is evicted before it is visited again.
const CacheMultiple = 8

// FewCaches is the multiple below which the buffers are small: a cache that does not
// replace the least recently used line may keep some of their lines.
const FewCaches = 4

// DefaultMemoryCap is the part of the available memory that the buffers may take
// where Options.MemoryCap is 0: a quarter. Both are in bytes.
func DefaultMemoryCap(available int64) int64 { return available / 4 }

// partAlign is the granularity of the buffer of one thread: the largest chunk.
const partAlign = largeChunk

// Options say where the interferer runs and what it may take. Only CPUs has to
// be set.
type Options struct {
	// CPUs are the logical CPUs to occupy, with one thread pinned to each.
	CPUs cpuset.CPUSet
	// MemoryNode is the NUMA node of the buffers. Nil means that of the CPU
	// that touches them first: the thread's own.
	MemoryNode *int
	// LastLevelCacheBytes is the size of the last-level caches that CPUs
	// reach, together. 0 means unknown: DefaultLastLevelCacheBytes is assumed.
	// The buffers are 8 times as large, so that no sequential visit finds its
	// line in a cache. Of random visits up to an eighth may, which makes
	// their counted traffic an upper bound; BufferBytes lowers that. Where
	// MemoryCap does not permit 8 times, they are as large as it permits, and
	// as the cache at least.
	LastLevelCacheBytes int64
	// BufferBytes is the size of all buffers together, in place of the one
	// that follows from LastLevelCacheBytes.
	BufferBytes int64
	// MemoryCap is the most that all buffers together may take; Start refuses
	// more. 0 means a quarter of the memory that is available.
	MemoryCap int64
	// MaxDuration is how long after its start the interferer ends by itself,
	// whatever else happens. 0 means DefaultMaxDuration.
	MaxDuration time.Duration
	// RealTime asks for SCHED_FIFO, so that ordinary processes can take no
	// more than a few percent of the CPUs. It is of use only where there are
	// any on these CPUs. Without the permission (CAP_SYS_NICE or
	// RLIMIT_RTPRIO) the interferer runs at ordinary priority, with a warning.
	RealTime bool
	// AllowAllCPUs permits CPUs to be all that this process may run on, where
	// the target would have to share one of them.
	AllowAllCPUs bool
	// Started, unless nil, is called by Run with the process ID, before there is traffic.
	Started func(pid int)
}

// Validate reports every fault of o at once. What only the machine can tell,
// such as too little memory or a CPU that is offline, is reported by Start.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if o.CPUs.IsEmpty() {
		fault("CPUs: none given; want one at least, such as 1 or 4-7")
	}
	for _, cpu := range o.CPUs.List() {
		if cpu < 0 || cpu >= topology.MaxCPUs {
			fault("CPU %d: want 0 to %d", cpu, topology.MaxCPUs-1)
		}
	}
	if o.MemoryNode != nil && *o.MemoryNode < 0 {
		fault("memory node %d: want 0 or more", *o.MemoryNode)
	}
	if o.LastLevelCacheBytes < 0 {
		fault("last-level cache of %d bytes: want 0 (unknown) or more", o.LastLevelCacheBytes)
	}
	if o.BufferBytes < 0 {
		fault("buffers of %d bytes: want 0 (%d times the last-level cache) or more", o.BufferBytes, CacheMultiple)
	}
	if o.MemoryCap < 0 {
		fault("memory cap of %d bytes: want 0 (a quarter of what is available) or more", o.MemoryCap)
	}
	if o.MaxDuration < 0 {
		fault("maximum duration %v: want 0 (%v) or more", o.MaxDuration, DefaultMaxDuration)
	}
	return errors.Join(faults...)
}

// partBytes returns the size of each thread's buffer.
func (o Options) partBytes() int64 {
	total := cmp.Or(o.BufferBytes, o.DefaultBufferBytes())
	threads := int64(o.CPUs.Size())
	part := (total + threads - 1) / threads
	return (part + partAlign - 1) / partAlign * partAlign
}

// DefaultBufferBytes returns what BufferBytes of 0 stands for.
func (o Options) DefaultBufferBytes() int64 {
	return CacheMultiple * o.LeastBufferBytes()
}

// LeastBufferBytes returns the least that BufferBytes of 0 stands for, where memory is
// short: the size of the last-level caches.
func (o Options) LeastBufferBytes() int64 {
	return cmp.Or(o.LastLevelCacheBytes, DefaultLastLevelCacheBytes)
}

// fitted makes the buffers smaller where their default size is more than may be taken of the
// available memory, in bytes; available < 0 means unknown. Warning says so where they are
// smaller than FewCaches times the cache; empty otherwise.
func (o Options) fitted(available int64) (fitted Options, warning string) {
	limit := o.MemoryCap
	if limit == 0 && available >= 0 {
		limit = DefaultMemoryCap(available)
	}
	step := partAlign * int64(o.CPUs.Size())
	most, least := limit/step*step, o.LeastBufferBytes()
	if o.BufferBytes != 0 || limit == 0 || most >= o.DefaultBufferBytes() {
		return o, ""
	}
	o.BufferBytes = max(most, least)
	if most >= least && most < FewCaches*least {
		warning = fmt.Sprintf("the interferer's buffers have %d MiB, which is all that it may take: %.1f times the last-level cache, which may keep some of their lines; free memory, or raise the memory cap, for %d times",
			most>>20, float64(most)/float64(least), CacheMultiple)
	}
	return o, warning
}

// admit holds o against the machine: the CPUs that this process may use and
// the memory that is available, in bytes; available < 0 means unknown. It
// reports every objection at once.
func (o Options) admit(allowed cpuset.CPUSet, available int64) error {
	var faults []error
	if !o.AllowAllCPUs && allowed.Difference(o.CPUs).IsEmpty() {
		faults = append(faults, fmt.Errorf(
			"%w: CPUs %v are all that this process may use (%v): leave one to the target, or allow all CPUs",
			ErrEveryCPU, o.CPUs, allowed))
	}
	total := o.partBytes() * int64(o.CPUs.Size())
	limit, origin := o.MemoryCap, "the memory cap"
	if limit == 0 && available >= 0 {
		limit, origin = DefaultMemoryCap(available), fmt.Sprintf("a quarter of the %d MiB available", available>>20)
	}
	if (limit > 0 || available >= 0) && total > limit {
		faults = append(faults, fmt.Errorf(
			"buffers of %d MiB exceed %s (%d MiB): ask for smaller buffers, or raise the memory cap: %w",
			total>>20, origin, limit>>20, ErrMemory))
	}
	return errors.Join(faults...)
}
