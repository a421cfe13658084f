package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// wordsPerLine is how many elements of a ring lie in a cache line.
const wordsPerLine = units.LineBytes / 4

// ring is a pointer chase: the first word of each line holds the place of the
// next one, in one cycle through all lines in random order.
type ring []uint32

// newRing makes a ring over so many bytes, by Sattolo's algorithm. The order is
// the same each time.
func newRing(bytes int64) ring {
	lines := int(bytes / units.LineBytes)
	order := make([]uint32, lines)
	for i := range order {
		order[i] = uint32(i)
	}
	random := rand.New(rand.NewPCG(1, uint64(lines)))
	for i := lines - 1; i > 0; i-- {
		j := random.IntN(i)
		order[i], order[j] = order[j], order[i]
	}
	r := make(ring, lines*wordsPerLine)
	for i, next := range order {
		r[i*wordsPerLine] = next * wordsPerLine
	}
	return r
}

// chase follows the ring and returns where it ends, so that nothing is left out.
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

func (r *runner) latencies(ctx context.Context) {
	c := &r.result.Capability
	places := []struct {
		name  string
		bytes int64
	}{
		{"level1", c.Level1Bytes / 2},
		{"level2", between(c.Level1Bytes, c.Level2Bytes)},
		{"memory", r.options.MemoryBytes},
	}
	for _, place := range places {
		if place.bytes < 2*units.LineBytes {
			r.warn("latency of " + place.name + " was not measured: the kernel does not tell the size of that cache")
			continue
		}
		if m, ok := r.chase(ctx, place.name, place.bytes); ok {
			c.Latencies = append(c.Latencies, lineLatency(place.name, "", m))
		}
	}
	if len(r.options.CPUs) < 2 {
		r.warn("latency of other cores was not measured: it takes two CPUs")
		return
	}
	if m, ok := r.handOver(ctx, max(minimumBytes/8, c.Level1Bytes/2)); ok {
		c.Latencies = append(c.Latencies, lineLatency("remote", "modified", m))
	}
}

// between is a size that lies in the second level and little of it in the first.
func between(level1, level2 int64) int64 {
	if level1 == 0 || level2 <= level1 {
		return 0
	}
	return level2 / 2
}

func lineLatency(place, state string, m Median) v1alpha1.LineLatency {
	return v1alpha1.LineLatency{
		Place: place, State: state, Nanoseconds: m.Value, RelativeInterval: &m.RelativeInterval, Repeats: m.Repeats,
	}
}

// chase measures the latency of a line in a buffer of a size on the first CPU.
func (r *runner) chase(ctx context.Context, place string, bytes int64) (Median, bool) {
	buffer, at := newRing(bytes), uint32(0)
	return r.repeat(ctx, "latency of "+place, func() (nanoseconds float64, err error) {
		err = onCPU(r.options.CPUs[0], func() {
			if bytes < r.options.MemoryBytes {
				at = buffer.chase(at, len(buffer)/wordsPerLine) // into the cache
			}
			begin := time.Now()
			at = buffer.chase(at, chaseSteps)
			nanoseconds = float64(time.Since(begin)) / chaseSteps
		})
		return nanoseconds, err
	})
}

// handOver measures the latency of lines that another core has modified.
func (r *runner) handOver(ctx context.Context, bytes int64) (Median, bool) {
	buffer, at := newRing(bytes), uint32(0)
	lines := len(buffer) / wordsPerLine
	from, to := r.options.CPUs[1], r.options.CPUs[0]
	return r.repeat(ctx, fmt.Sprintf("latency of lines modified by CPU %d", from), func() (nanoseconds float64, err error) {
		if err := onCPU(from, buffer.modify); err != nil {
			return 0, err
		}
		err = onCPU(to, func() {
			begin := time.Now()
			at = buffer.chase(at, lines)
			nanoseconds = float64(time.Since(begin)) / float64(lines)
		})
		return nanoseconds, err
	})
}

// onCPU runs a function on a CPU, on a goroutine of its own as
// topology.RunOn asks for.
func onCPU(cpu int, run func()) (err error) {
	var done sync.WaitGroup
	done.Go(func() { err = topology.RunOn(cpu, run) })
	done.Wait()
	return err
}
