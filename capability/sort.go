package capability

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// Sorting is a machine as a parallel merge sort sees it (section V.B of Ramos
// and Hoefler): every merge reads two lists and writes one, of n lines together,
// so that it makes 2·n accesses of a line.
type Sorting struct {
	// Level1 and Level2 are the costs of a line in the own caches: cost_L1 and
	// cost_L2.
	Level1, Level2 Cost
	// MemoryLatency is the cost of a line in memory when each is waited for.
	MemoryLatency Cost
	// Bandwidths are those of copies by threads.
	Bandwidths BandwidthByThreads
	// Signal is the cost of handing a merged list to the thread that merges it
	// further: R_L + R_R.
	Signal Cost
	// Level1Bytes and Level2Bytes are the sizes of the caches.
	Level1Bytes, Level2Bytes int64
	// CoresPerTile is how many cores share a cache of the second level.
	CoresPerTile int
}

// NewSorting takes the costs from a machine profile. Data that a core wrote and
// reads again is in no other cache, so the exclusive state of a line is preferred.
func NewSorting(m *v1alpha1.MachineProfile, memory string) (Sorting, error) {
	c, err := capabilityOf(m)
	if err != nil {
		return Sorting{}, err
	}
	var missing []string
	find := func(memory string, states []string, places ...string) Cost {
		for _, place := range places {
			if latency, ok := latencyOf(c, place, memory, states); ok {
				return latency
			}
		}
		missing = append(missing, places[0])
		return 0
	}
	local := find("", ownStates, "level1")
	s := Sorting{
		Level1: local, Level2: find("", ownStates, "level2", "tile"),
		MemoryLatency: find(memory, ownStates, "memory"),
		Signal:        local + find("", writtenStates, "remote"),
		Level1Bytes:   c.Level1Bytes, Level2Bytes: c.Level2Bytes, CoresPerTile: max(1, c.CoresPerTile),
	}
	if missing != nil {
		return Sorting{}, missingLatencies(m.Name, missing, c, memory)
	}
	if s.Bandwidths, err = copyBandwidths(c, memory); err != nil {
		return Sorting{}, fmt.Errorf("machine %q: %w", m.Name, err)
	}
	if err := s.Validate(); err != nil {
		return Sorting{}, fmt.Errorf("machine %q: %w", m.Name, err)
	}
	return s, nil
}

// Validate reports every value that is out of range.
func (s Sorting) Validate() error {
	err := errors.Join(checkCost("cost of the first level", s.Level1), checkCost("cost of the second level", s.Level2),
		checkCost("latency of the memory", s.MemoryLatency), checkCost("signal", s.Signal), s.Bandwidths.Validate())
	if s.Level1Bytes < 4*units.LineBytes || s.Level2Bytes < s.Level1Bytes {
		err = errors.Join(err, fmt.Errorf("caches of %d and %d bytes: want sizes of the first and the second level, the second no smaller", s.Level1Bytes, s.Level2Bytes))
	}
	if s.CoresPerTile < 1 {
		err = errors.Join(err, fmt.Errorf("%d cores per tile: want 1 or more", s.CoresPerTile))
	}
	return err
}

// SortTime is how long a sort takes.
type SortTime struct {
	// Bandwidth and Latency are the bounds: every line of memory at the inverse
	// of the bandwidth (sorted input, prefetched), or waited for (random input).
	// They leave out the cost of comparing. Both count a line in a cache by its
	// latency, which may exceed that of a streamed line from memory.
	Bandwidth, Latency Cost
}

// MaxSortBytes is 1 PiB, more than a machine holds.
const MaxSortBytes int64 = 1 << 50

// Time returns the bounds for sorting so many bytes with a power of two of
// threads, one a core: each sorts its part, then half of them merge, and so on,
// until one is left. The costs of the last stages are those of equation 5 for
// lists of their size.
func (s Sorting) Time(bytes int64, threads int) (SortTime, error) {
	if err := s.Validate(); err != nil {
		return SortTime{}, err
	}
	if err := checkThreads(threads); err != nil {
		return SortTime{}, err
	}
	if bits.OnesCount(uint(threads)) != 1 {
		return SortTime{}, fmt.Errorf("%d threads: want a power of two, half of them merge in every stage", threads)
	}
	if bytes < 1 || bytes > MaxSortBytes {
		return SortTime{}, fmt.Errorf("size of %d bytes: want 1 to 2^50", bytes)
	}
	lines := float64(bytes) / units.LineBytes
	latency := func(int) Cost { return s.MemoryLatency }
	return SortTime{Bandwidth: s.time(lines, threads, s.lineAtBandwidth), Latency: s.time(lines, threads, latency)}, nil
}

// lineAtBandwidth returns the cost of a line to each of so many threads.
func (s Sorting) lineAtBandwidth(threads int) Cost {
	return Cost(1e9 * units.LineBytes * float64(threads) / float64(s.Bandwidths.At(threads)))
}

func (s Sorting) time(lines float64, threads int, memory func(threads int) Cost) Cost {
	share := lines / float64(threads)
	level1, level2 := s.fit(threads)
	total := s.own(share, level1, level2, memory(threads))
	for active := threads / 2; active >= 1; active /= 2 {
		share *= 2
		_, level2 = s.fit(active)
		cost := memory(active)
		switch {
		case share <= level1:
			cost = s.Level1
		case share <= level2:
			cost = s.Level2
		}
		total += Cost(2*share)*cost + s.Signal
	}
	return total
}

// fit returns n_L1 and n_L2, the lines of the largest output that fits a cache
// with its input: half of it, and of a shared one a core's part.
func (s Sorting) fit(threads int) (level1, level2 float64) {
	level1 = float64(s.Level1Bytes) / (2 * units.LineBytes)
	level2 = float64(s.Level2Bytes) / (2 * units.LineBytes) / float64(min(threads, s.CoresPerTile))
	return level1, max(level1, level2)
}

// own returns the cost of sorting n lines by one thread, equations 3 to 5:
//
//	C_L1(n)  = (log2(n) − 1)·2n·cost_L1 + 2n·cost_mem
//	C_L2(n)  = n/n_L1·C_L1(n_L1) + (log2(n) − log2(n_L1))·2n·cost_L2
//	C_mem(n) = n/n_L2·C_L2(n_L2) + (log2(n) − log2(n_L2))·2n·cost_mem
//
// Below two lines nothing is merged from a cache: the first term is 0.
func (s Sorting) own(n, level1, level2 float64, memory Cost) Cost {
	switch {
	case n <= level1:
		return Cost(max(0, math.Log2(n)-1)*2*n)*s.Level1 + Cost(2*n)*memory
	case n <= level2:
		return Cost(n/level1)*s.own(level1, level1, level2, memory) + Cost(math.Log2(n/level1)*2*n)*s.Level2
	}
	return Cost(n/level2)*s.own(level2, level1, level2, memory) + Cost(math.Log2(n/level2)*2*n)*memory
}
