// Package measure finds out what the caches and the memory of this machine can
// do, for the models of package capability: the latency of a cache line by place
// (pointer chase), the latency of a line that another core has modified, and the
// bandwidth of copies, reads, writes and triads by threads.
//
// Medians are repeated until their 95% interval lies within 10%, as Ramos and
// Hoefler (2017) demand; where that does not come about within the repeats
// allowed, a warning says so.
package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

// Options say what to measure on.
type Options struct {
	// CPUs run the measurement, the first one alone where one is enough; at
	// least one, each once. More than one thread a core measures SMT.
	CPUs []int
	// MemoryBytes is the size of what lies in memory, of all threads together:
	// several times the last level of cache, else the cache is measured too. Lists
	// of bandwidths take up to one and a half times as much.
	MemoryBytes int64
	// Repeats bounds the repeats of each value.
	Repeats Repeats
	// Source is written into the result: how it was measured and by what.
	Source string
	// Progress is called before each value; nil for silence.
	Progress func(what string)
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
	return errors.Join(err, o.Repeats.Validate())
}

// minimumBytes are some pages for each thread.
const minimumBytes = 64 << 10

// Result is what was found.
type Result struct {
	Capability v1alpha1.Capability
	// Warnings say what may be doubted and what was not measured.
	Warnings []string
}

// Run measures. A cache whose size the kernel does not tell is left out, with a
// warning. It stops with ctx, and then returns its error.
func Run(ctx context.Context, m *topology.Machine, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	r := runner{options: o}
	r.result.Capability = v1alpha1.Capability{
		Source: o.Source, Level1Bytes: cacheBytes(m, o.CPUs[0], 1), Level2Bytes: cacheBytes(m, o.CPUs[0], 2),
		CoresPerTile: coresPerTile(m, o.CPUs[0]),
	}
	r.latencies(ctx)
	r.bandwidths(ctx)
	if r.err != nil {
		return Result{}, r.err
	}
	r.warn("contention of several readers of one line was not measured: there is no tree without it")
	return r.result, nil
}

// runner goes on until the first error.
type runner struct {
	options Options
	result  Result
	err     error
}

func (r *runner) warn(text string) { r.result.Warnings = append(r.result.Warnings, text) }

// repeat measures one value until its median is known.
func (r *runner) repeat(ctx context.Context, what string, once func() (float64, error)) (Median, bool) {
	if r.err != nil {
		return Median{}, false
	}
	if r.options.Progress != nil {
		r.options.Progress(what)
	}
	median, err := r.options.Repeats.until(ctx, once)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", what, err)
		return Median{}, false
	}
	if !median.Settled() {
		r.warn(fmt.Sprintf("%s: the 95%% interval is ±%.0f%% after %d repeats, not within 10%%", what, 100*median.RelativeInterval, median.Repeats))
	}
	return median, true
}

func cacheBytes(m *topology.Machine, cpu, level int) int64 {
	for _, c := range m.Caches {
		if c.Level == level && c.Type != "Instruction" && c.CPUs.Contains(cpu) {
			return c.Bytes
		}
	}
	return 0
}

// coresPerTile counts the cores that share a second-level cache; 0 when unknown.
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
