package measure

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/units"
)

// lists are what one thread works on: a[i] = b[i] + s·c[i].
type lists struct {
	buffer  buffer
	a, b, c []line
	mix     kernel.Mix
}

// access is one kind of access; bytes are the bytes that the program reads and
// writes per line of a list.
type access struct {
	name        string
	nonTemporal bool
	bytes       int64
	pass        func(*lists)
}

// chunkLines are worked on between two points at which the Go runtime can stop a
// thread: 256 KiB of each list.
const chunkLines = 4 << 10

// accesses lists the accesses that loops can make, plain stores first.
func accesses(l loops) []access {
	const one = units.LineBytes
	copies := func(loop func(to, from []line)) func(*lists) {
		return func(w *lists) { inChunks(len(w.a), func(i, j int) { loop(w.a[i:j], w.b[i:j]) }) }
	}
	writes := func(loop func(to []line, value float64)) func(*lists) {
		return func(w *lists) { inChunks(len(w.a), func(i, j int) { loop(w.a[i:j], 3) }) }
	}
	triads := func(loop func(to, b, c []line, scale float64)) func(*lists) {
		return func(w *lists) { inChunks(len(w.a), func(i, j int) { loop(w.a[i:j], w.b[i:j], w.c[i:j], 3) }) }
	}
	// The kernels of the interferer read with the widest loads there are.
	reads := func(w *lists) {
		inChunks(len(w.a), func(i, j int) {
			kernel.Best().Sequential(w.buffer.Bytes()[i*one:j*one], &w.mix, 0)
		})
	}
	all := []access{
		{name: "copy", bytes: 2 * one, pass: copies(l.copy)},
		{name: "read", bytes: one, pass: reads},
		{name: "write", bytes: one, pass: writes(l.write)},
		{name: "triad", bytes: 3 * one, pass: triads(l.triad)},
	}
	if l.copyNT == nil {
		return all
	}
	return append(all,
		access{name: "copy", nonTemporal: true, bytes: 2 * one, pass: copies(l.copyNT)},
		access{name: "write", nonTemporal: true, bytes: one, pass: writes(l.writeNT)},
		access{name: "triad", nonTemporal: true, bytes: 3 * one, pass: triads(l.triadNT)})
}

func inChunks(lines int, run func(i, j int)) {
	for i := 0; i < lines; i += chunkLines {
		run(i, min(lines, i+chunkLines))
	}
}

// team is a group of threads and the place of their lists.
type team struct {
	cpus []int
	// cpuNode and memoryNode are set where all threads are on one NUMA node and
	// all lists on another or the same.
	cpuNode, memoryNode *int
}

func (t team) String() string {
	text := fmt.Sprintf("threads: %d", len(t.cpus))
	if t.memoryNode != nil {
		text += fmt.Sprintf(" of node %d, memory of node %d", *t.cpuNode, *t.memoryNode)
	}
	return text
}

// teams returns numbers of threads over all CPUs, with their lists on their own
// nodes. With several NUMA nodes it adds one thread and all threads of the first
// CPU's node, with their lists on each node.
func (r *runner) teams() []team {
	var teams []team
	for _, n := range counts(len(r.options.CPUs)) {
		teams = append(teams, team{cpus: r.options.CPUs[:n]})
	}
	var near []int
	for _, cpu := range r.options.CPUs {
		if c, ok := r.machine.CPU(cpu); ok && c.Node == r.node() {
			near = append(near, cpu)
		}
	}
	for _, memory := range r.memoryNodes() {
		cpuNode := r.node()
		teams = append(teams, team{near[:1], &cpuNode, &memory})
		if len(near) > 1 {
			teams = append(teams, team{near, &cpuNode, &memory})
		}
	}
	return teams
}

func (r *runner) bandwidths() []section {
	best := available()[0]
	if best.copyNT == nil {
		r.warn("bandwidth of non-temporal stores was not measured: there are no loops with them for this CPU")
	}
	var sections []section
	for _, t := range r.teams() {
		sections = append(sections, r.bandwidthsOf(t, accesses(best)))
	}
	return sections
}

// bandwidthsOf measures the bandwidth of a team, in lists that each thread has
// written first, so that they lie on its NUMA node.
func (r *runner) bandwidthsOf(t team, kinds []access) section {
	work := make([]*lists, len(t.cpus))
	s := section{
		open: func(context.Context) error { return openLists(work, r.options.MemoryBytes/int64(len(work)), t) },
		close: func() error {
			var errs []error
			for _, w := range work {
				if w != nil {
					errs = append(errs, w.buffer.Free())
				}
			}
			return errors.Join(errs...)
		},
	}
	for _, kind := range kinds {
		what := kind.name
		if kind.nonTemporal {
			what = "non-temporal " + what
		}
		s.values = append(s.values, value{
			what: fmt.Sprintf("%s, %v", what, t),
			once: func() (float64, error) {
				longest, err := together(t.cpus, func(i int) { kind.pass(work[i]) })
				return float64(int64(len(work)*len(work[0].a))*kind.bytes) / longest.Seconds(), err
			},
			keep: func(m Median) {
				r.capability().Bandwidths = append(r.capability().Bandwidths, v1alpha1.AccessBandwidth{
					Access: kind.name, NonTemporal: kind.nonTemporal, CPUNode: t.cpuNode, MemoryNode: t.memoryNode,
					Threads: len(t.cpus), BytesPerSecond: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
				})
			},
		})
	}
	return s
}

// openLists makes the lists of every thread, each list half of its share.
func openLists(work []*lists, share int64, t team) error {
	const granule = kernel.ChunkAlign / units.LineBytes // what the kernels want
	lines := share / 2 / units.LineBytes / granule * granule
	for i := range work {
		b, err := newBuffer(3*lines*units.LineBytes, t.memoryNode)
		if err != nil {
			if t.memoryNode != nil {
				err = fmt.Errorf("bandwidth, %v, was %w: %w", t, errSkip, err)
			}
			return err
		}
		all := b.lines()
		work[i] = &lists{buffer: b, a: all[:lines], b: all[lines : 2*lines], c: all[2*lines:]}
		if work[i].mix, err = kernel.NewMix(1); err != nil {
			return err
		}
	}
	return each(t.cpus, func(i int) { kernel.Fill(work[i].buffer.Bytes(), uint64(i)+1) })
}
