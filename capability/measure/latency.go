package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// wordsPerLine is how many elements of a ring lie in a cache line.
const wordsPerLine = units.LineBytes / 4

// ring is a pointer chase: the first word of each line holds the place of the
// next one, in one cycle through all lines in random order.
type ring []uint32

// lay makes a ring of words, a whole number of lines, by Sattolo's algorithm. The
// order is the same each time.
func lay(words []uint32) ring {
	lines := len(words) / wordsPerLine
	r := ring(words[:lines*wordsPerLine])
	for i := range lines {
		r[i*wordsPerLine] = uint32(i * wordsPerLine)
	}
	random := rand.New(rand.NewPCG(1, uint64(lines)))
	for i := lines - 1; i > 0; i-- {
		j := random.IntN(i)
		r[i*wordsPerLine], r[j*wordsPerLine] = r[j*wordsPerLine], r[i*wordsPerLine]
	}
	return r
}

// lines is the length of the ring.
func (r ring) lines() int { return len(r) / wordsPerLine }

// chase follows the ring and returns where it ends, so that the compiler keeps it.
func (r ring) chase(from uint32, steps int) uint32 {
	for range steps {
		from = r[from]
	}
	return from
}

// modify writes to every line, not to the word that is followed.
func (r ring) modify() {
	for i := 1; i < len(r); i += wordsPerLine {
		r[i]++
	}
}

// chaseSteps is the length of one measurement: some milliseconds in memory.
const chaseSteps = 1 << 16

// smallestRing fits every first-level cache.
const smallestRing = 4 << 10

// placeSizes returns the sizes of rings that lie in one place and hardly in a
// nearer one: half of each own cache, and the memory. The share of a core in the
// last level, which others use, is unknown: four times the second level is taken,
// up to half of the last one.
func (r *runner) placeSizes() map[string]int64 {
	c := r.capability()
	last, _ := r.lastLevelBytes()
	sizes := map[string]int64{"level1": c.Level1Bytes / 2, "memory": r.options.MemoryBytes}
	if c.Level1Bytes > 0 && c.Level2Bytes > 2*c.Level1Bytes {
		sizes["level2"] = c.Level2Bytes / 2
	}
	if c.Level2Bytes > 0 && last > 2*c.Level2Bytes {
		sizes["level3"] = min(last/2, 4*c.Level2Bytes)
	}
	for place, bytes := range sizes {
		if bytes = bytes / units.LineBytes * units.LineBytes; bytes < 2*units.LineBytes || place != "memory" && bytes >= r.options.MemoryBytes {
			delete(sizes, place)
			continue
		}
		sizes[place] = bytes
	}
	return sizes
}

// lastLevelBytes returns the size of one last-level cache behind the second level.
func (r *runner) lastLevelBytes() (int64, bool) {
	c, ok := r.machine.LastLevelCache(r.options.CPUs[0])
	return c.Bytes, ok && c.Level > 2
}

// bySize measures the latency in rings of growing sizes, those of the places
// among them, in memory beside the first CPU.
func (r *runner) bySize() []section {
	places := r.placeSizes()
	for _, place := range []string{"level1", "level2", "level3"} {
		if _, ok := places[place]; !ok {
			r.warn("latency of %s was not measured: the kernel reports no size of that cache, or one like that of the next cache", place)
		}
	}
	var sizes []int64
	for size := int64(smallestRing); size < r.options.MemoryBytes; size *= 2 {
		sizes = append(sizes, size)
	}
	for _, size := range places {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	var sections []section
	for _, size := range slices.Compact(sizes) {
		sections = append(sections, r.chaseOf(size, "latency in "+sizeText(size), nil, func(m Median) {
			c := r.capability()
			c.LatenciesBySize = append(c.LatenciesBySize, v1alpha1.SizeLatency{
				Bytes: size, Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
			})
			for _, place := range []string{"level1", "level2", "level3", "memory"} {
				if places[place] == size {
					c.Latencies = append(c.Latencies, r.lineLatency(place, m))
				}
			}
		}))
	}
	return sections
}

// ofOtherNodes measures the latency of memory on every other NUMA node.
func (r *runner) ofOtherNodes() []section {
	var sections []section
	for _, node := range r.memoryNodes() {
		if node == r.node() {
			continue
		}
		sections = append(sections, r.chaseOf(r.options.MemoryBytes, fmt.Sprintf("latency of memory of node %d", node), &node, func(m Median) {
			l := r.lineLatency("memory", m)
			l.MemoryNode = &node
			r.capability().Latencies = append(r.capability().Latencies, l)
		}))
	}
	return sections
}

// lineLatency returns the latency of a place. That of memory names the nodes if
// there are several.
func (r *runner) lineLatency(place string, m Median) v1alpha1.LineLatency {
	l := v1alpha1.LineLatency{Place: place, Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats}
	if place == "memory" && r.memoryNodes() != nil {
		l.CPUNode, l.MemoryNode = new(r.node()), new(r.node())
	}
	return l
}

// chaseOf measures the latency of a line in a ring of a size, on the first CPU.
func (r *runner) chaseOf(size int64, what string, node *int, keep func(Median)) section {
	chase := &chase{cpu: r.options.CPUs[0], size: size, node: node}
	last, known := r.lastLevelBytes()
	chase.warm = size <= r.capability().Level2Bytes || known && size <= last
	return section{
		open: func(context.Context) error {
			err := chase.open()
			if err != nil && node != nil { // containers may not take it
				err = fmt.Errorf("%s was %w: %w", what, errSkip, err)
			}
			return err
		},
		close:  chase.close,
		values: []value{{what: what, once: chase.once, keep: keep}},
	}
}

// chase is a ring in a buffer, and the place that was reached in it.
type chase struct {
	cpu  int
	size int64
	node *int
	// warm has the ring followed once around before each measurement.
	warm bool

	buffer buffer
	ring   ring
	at     uint32
}

func (c *chase) open() (err error) {
	if c.buffer, err = newBuffer(c.size, c.node); err != nil {
		return err
	}
	return onCPU(c.cpu, func() { c.ring = lay(c.buffer.words()) })
}

func (c *chase) once() (float64, error) {
	return perLine(c.cpu, chaseSteps, func() {
		if c.warm {
			c.at = c.ring.chase(c.at, c.ring.lines())
		}
	}, func() { c.at = c.ring.chase(c.at, chaseSteps) })
}

// perLine returns the nanoseconds a line that run takes on a CPU after before, with
// errDisturbed if another program took the CPU.
func perLine(cpu, lines int, before, run func()) (nanoseconds float64, err error) {
	alone := true
	err = onCPU(cpu, func() {
		before()
		var took time.Duration
		took, alone = timed(run)
		nanoseconds = float64(took) / float64(lines)
	})
	if err == nil && !alone {
		err = errDisturbed
	}
	return nanoseconds, err
}

func (c *chase) close() error {
	b := c.buffer
	c.buffer, c.ring = buffer{}, nil
	return b.Free()
}

// sizeText prints a size in the largest unit that divides it.
func sizeText(bytes int64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}
