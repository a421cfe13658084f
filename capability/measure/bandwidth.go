package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// line is a cache line of numbers.
type line [units.LineBytes / 8]float64

// lists are what one thread works on.
type lists struct {
	a, b, c []line
	raw     []byte // what the kernels of the interferer work on
	mix     kernel.Mix
	sum     float64
}

// access is one kind of access over the lists of a thread; bytes are those that
// the program reads and writes per line of a list.
type access struct {
	name        string
	nonTemporal bool
	bytes       int64
	pass        func(*lists)
	share       units.ReadShare // of the kernel that makes it, where one does
	byKernel    bool
}

// accesses lists copies and triads as compiled loops with plain stores, and reads
// and non-temporal writes as the kernels of the interferer make them.
func accesses() []access {
	const one = units.LineBytes
	byKernel := func(l *lists) { kernel.Best().Sequential(l.raw, &l.mix) }
	all := []access{
		{name: "copy", bytes: 2 * one, pass: func(l *lists) {
			for i := range l.a {
				l.a[i] = l.b[i]
			}
		}},
		{name: "write", bytes: one, pass: func(l *lists) {
			fill := line{l.sum, 1, 2, 3, 4, 5, 6, 7}
			for i := range l.a {
				l.a[i] = fill
			}
		}},
		{name: "triad", bytes: 3 * one, pass: func(l *lists) {
			for i := range l.a {
				for j := range l.a[i] {
					l.a[i][j] = l.b[i][j] + 3*l.c[i][j]
				}
			}
		}},
		{name: "read", bytes: one, pass: byKernel, share: 1, byKernel: true},
	}
	if kernel.Best().MinReadShare() == 0 {
		all = append(all, access{name: "write", nonTemporal: true, bytes: one, pass: byKernel, share: 0, byKernel: true})
	}
	return all
}

func (r *runner) bandwidths(ctx context.Context) {
	for _, kind := range accesses() {
		for _, threads := range threadCounts(len(r.options.CPUs)) {
			what := fmt.Sprintf("%s, threads: %d", kind.name, threads)
			if kind.nonTemporal {
				what = "non-temporal " + what
			}
			m, ok := r.bandwidth(ctx, what, kind, threads)
			if !ok {
				return
			}
			r.result.Capability.Bandwidths = append(r.result.Capability.Bandwidths, v1alpha1.AccessBandwidth{
				Access: kind.name, NonTemporal: kind.nonTemporal, Threads: threads, BytesPerSecond: m.Value,
				RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
			})
		}
	}
}

// threadCounts are the powers of two up to all CPUs, and all.
func threadCounts(cpus int) []int {
	var counts []int
	for n := 1; n < cpus; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, cpus)
}

// bandwidth measures what so many threads reach together, on the first CPUs:
// each passes over lists of its own, which it has written before, so that they
// lie on its NUMA node.
func (r *runner) bandwidth(ctx context.Context, what string, kind access, threads int) (Median, bool) {
	if r.err != nil {
		return Median{}, false
	}
	work := make([]*lists, threads)
	share := r.options.MemoryBytes / int64(threads)
	err := each(r.options.CPUs[:threads], func(i int) { work[i] = newLists(share, kind) })
	for i := range work {
		if err == nil && kind.byKernel {
			work[i].mix, err = kernel.NewMix(kind.share)
		}
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", what, err)
		return Median{}, false
	}
	total := float64(int64(threads) * work[0].lines() * kind.bytes)
	return r.repeat(ctx, what, func() (float64, error) {
		longest, err := together(r.options.CPUs[:threads], func(i int) { kind.pass(work[i]) })
		return total / longest.Seconds(), err
	})
}

func newLists(bytes int64, kind access) *lists {
	if kind.byKernel {
		l := &lists{raw: make([]byte, bytes/kernel.ChunkAlign*kernel.ChunkAlign)}
		kernel.Fill(l.raw, 1)
		return l
	}
	lines := bytes / 2 / units.LineBytes
	l := &lists{a: make([]line, lines), b: make([]line, lines), c: make([]line, lines)}
	for i := range l.a {
		for j := range l.a[i] {
			l.a[i][j], l.b[i][j], l.c[i][j] = 1, float64(i+j), 2
		}
	}
	return l
}

// lines is what one pass goes over, in lines of a list.
func (l *lists) lines() int64 {
	if l.raw != nil {
		return int64(len(l.raw)) / units.LineBytes
	}
	return int64(len(l.a))
}

// each runs a function on every CPU at once.
func each(cpus []int, run func(i int)) error {
	errs := make([]error, len(cpus))
	var done sync.WaitGroup
	for i, cpu := range cpus {
		done.Go(func() { errs[i] = topology.RunOn(cpu, func() { run(i) }) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// together runs a function on every CPU, begun at once, and returns the time
// from then until the last has ended.
func together(cpus []int, run func(i int)) (time.Duration, error) {
	var ready sync.WaitGroup
	ready.Add(len(cpus))
	begin := make(chan struct{})
	var began time.Time
	go func() {
		ready.Wait()
		began = time.Now()
		close(begin)
	}()
	errs := make([]error, len(cpus))
	ended := make([]time.Time, len(cpus))
	var done sync.WaitGroup
	for i, cpu := range cpus {
		done.Go(func() {
			ran := false
			errs[i] = topology.RunOn(cpu, func() {
				ran = true
				ready.Done()
				<-begin
				run(i)
				ended[i] = time.Now()
			})
			if !ran { // let the others go
				ready.Done()
			}
		})
	}
	done.Wait()
	<-begin
	var longest time.Duration
	for _, end := range ended {
		longest = max(longest, end.Sub(began))
	}
	return longest, errors.Join(errs...)
}
