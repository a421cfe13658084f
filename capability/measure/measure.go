// Package measure measures what the caches and the memory of this machine can
// do, for the models of package capability: the latency of a cache line by size
// of the buffer, by place and by state in another core's cache, the contention of
// threads that read one line, transfers of several lines, the bandwidth of
// copies, reads, writes and triads by threads and NUMA nodes, and the latency of
// memory under load. It also races the algorithms of package collective.
//
// Measurements are repeated until the 95% interval of their median lies within 10%, as
// Ramos and Hoefler (2017) demand. A warning names the medians that do not reach this
// within the allowed repeats or time.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/topology"
)

// Options say what to measure on.
type Options struct {
	// CPUs run the measurement, the first one alone where one suffices; at least
	// one, each once. More than one thread a core measures SMT.
	CPUs []int
	// MemoryBytes is the size of the data of all threads together: several times
	// the last-level cache, so that the cache is not measured too. Bandwidths take
	// up to one and a half times as much.
	MemoryBytes int64
	// Repeats bounds the repeats of each value.
	Repeats Repeats
	// Budget is the time for all values, above 0. Each value gets an even part of
	// the rest; the fewest repeats are made in any case.
	Budget time.Duration
	// Source is written into the result.
	Source string
	// Progress is called before each value with the number of values measured, the
	// total, and the next value; may be nil.
	Progress func(done, total int, next string)
}

// MaxMemoryBytes bounds Options.MemoryBytes: 4 GiB.
const MaxMemoryBytes int64 = 4 << 30

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	var err error
	if len(o.CPUs) == 0 || len(slices.Compact(slices.Sorted(slices.Values(o.CPUs)))) != len(o.CPUs) {
		err = fmt.Errorf("CPUs %v: want one or more, each once", o.CPUs)
	}
	if least := int64(max(1, len(o.CPUs))) * minimumBytes; o.MemoryBytes < least || o.MemoryBytes > MaxMemoryBytes {
		err = errors.Join(err, fmt.Errorf("memory of %d bytes: want %d to %d", o.MemoryBytes, least, MaxMemoryBytes))
	}
	if o.Budget <= 0 {
		err = errors.Join(err, fmt.Errorf("budget of %v: want more than 0", o.Budget))
	}
	return errors.Join(err, o.Repeats.Validate())
}

// minimumBytes are some pages for each thread.
const minimumBytes = 64 << 10

// Result is a measured capability.
type Result struct {
	Capability v1alpha1.Capability
	// Warnings say which values may be doubted and which were not measured.
	Warnings []string
}

// Run measures. It leaves out, with a warning, the values that this machine cannot
// show: of a cache whose size the kernel does not report, with more CPUs than there
// are, or on NUMA nodes whose memory may not be used. It fails when ctx ends, or
// with CPUs that cannot be used.
//
// The load beside which latency is measured is an interferer, a child process: the
// program has to call interferer.RunIfChild first in main.
func Run(ctx context.Context, m *topology.Machine, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	r := runner{options: o, machine: m, deadline: time.Now().Add(o.Budget)}
	*r.capability() = v1alpha1.Capability{
		Source: o.Source, Level1Bytes: cacheBytes(m, o.CPUs[0], 1), Level2Bytes: cacheBytes(m, o.CPUs[0], 2),
		CoresPerTile: coresPerTile(m, o.CPUs[0]),
	}
	if memory.HugePagesOff(os.DirFS("/")) {
		r.warn("the kernel gives no huge pages: latencies of large sizes hold what translating addresses costs; " +
			memory.HugePagesRemedy)
	}
	err := r.run(ctx, slices.Concat(
		r.bySize(), r.ofOtherNodes(), r.byState(), r.contention(), r.transfers(), r.bandwidths(), r.loaded()))
	if err != nil {
		return Result{}, err
	}
	return r.result, nil
}

func cacheBytes(m *topology.Machine, cpu, level int) int64 {
	for _, c := range m.Caches {
		if c.Level == level && c.Type != "Instruction" && c.CPUs.Contains(cpu) {
			return c.Bytes
		}
	}
	return 0
}

// coresPerTile counts the cores that share a second-level cache; 0 if unknown.
func coresPerTile(m *topology.Machine, cpu int) int {
	for _, c := range m.Caches {
		if c.Level != 2 || !c.CPUs.Contains(cpu) {
			continue
		}
		cores := map[int]bool{}
		for _, id := range c.CPUs.UnsortedList() {
			if sharing, ok := m.CPU(id); ok {
				cores[sharing.Core] = true
			}
		}
		return len(cores)
	}
	return 0
}
