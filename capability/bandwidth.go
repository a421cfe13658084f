package capability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

// BandwidthByThreads is the bandwidth that numbers of threads reach together.
type BandwidthByThreads struct {
	// Points are measured, by ascending threads, the first for one thread.
	Points []BandwidthPoint
	// Most is the highest bandwidth of any number of threads; 0 to take that of the
	// points.
	Most units.Bandwidth
}

// BandwidthPoint is the bandwidth of a number of threads.
type BandwidthPoint struct {
	Threads   int
	Bandwidth units.Bandwidth
}

// Validate returns the first value that is out of range.
func (b BandwidthByThreads) Validate() error {
	if len(b.Points) == 0 || b.Points[0].Threads != 1 {
		return errors.New("the bandwidth of one thread is missing")
	}
	if !b.Most.Valid() {
		return fmt.Errorf("highest bandwidth of %v B/s: want a finite one", float64(b.Most))
	}
	for i, p := range b.Points {
		if !p.Bandwidth.Valid() || p.Bandwidth == 0 {
			return fmt.Errorf("bandwidth of %d threads of %v B/s: want one above 0", p.Threads, float64(p.Bandwidth))
		}
		if i > 0 && p.Threads <= b.Points[i-1].Threads {
			return fmt.Errorf("bandwidth of %d threads after that of %d: want ascending threads", p.Threads, b.Points[i-1].Threads)
		}
	}
	return nil
}

// At returns the bandwidth of so many threads, 1 or more. It interpolates linearly
// between points. Above the last point it grows with the threads up to Most, and is
// constant without Most.
func (b BandwidthByThreads) At(threads int) units.Bandwidth {
	i, found := slices.BinarySearchFunc(b.Points, threads, func(p BandwidthPoint, n int) int { return cmp.Compare(p.Threads, n) })
	if found {
		return b.Points[i].Bandwidth
	}
	last := b.Points[max(0, i-1)]
	if i < len(b.Points) {
		next := b.Points[i]
		return last.Bandwidth + (next.Bandwidth-last.Bandwidth)*units.Bandwidth(threads-last.Threads)/units.Bandwidth(next.Threads-last.Threads)
	}
	if b.Most == 0 {
		return last.Bandwidth
	}
	return max(last.Bandwidth, min(b.Most, last.Bandwidth*units.Bandwidth(threads)/units.Bandwidth(last.Threads)))
}

// copyBandwidths takes the bandwidths of copies from a profile, with non-temporal
// stores if it has them; of the first memory when none is named. Bandwidths between
// two NUMA nodes are left out.
func copyBandwidths(c *v1alpha1.Capability, memory string) (BandwidthByThreads, error) {
	if names := memories(c); memory == "" && len(names) > 0 {
		memory = names[0]
	}
	for _, nonTemporal := range []bool{true, false} {
		var b BandwidthByThreads
		for _, entry := range c.Bandwidths {
			if entry.Access != "copy" || entry.NonTemporal != nonTemporal || entry.Memory != memory || entry.CPUNode != nil {
				continue
			}
			if entry.Threads == 0 {
				b.Most = units.Bandwidth(entry.BytesPerSecond)
				continue
			}
			b.Points = append(b.Points, BandwidthPoint{entry.Threads, units.Bandwidth(entry.BytesPerSecond)})
		}
		slices.SortFunc(b.Points, func(x, y BandwidthPoint) int { return cmp.Compare(x.Threads, y.Threads) })
		if len(b.Points) > 0 && b.Points[0].Threads == 1 {
			return b, nil
		}
	}
	return BandwidthByThreads{}, fmt.Errorf("the bandwidth of copies by one thread is missing (memory %q): %w", memory, ErrNotCovered)
}
