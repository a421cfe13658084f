package pressure

import (
	"math"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// Holding is how an interferer keeps part of the last-level cache that it shares with an
// application: it loads the lines of a working set in random order (Eklov et al., Cache
// Pirate, ICPP 2011).
type Holding struct {
	// Bytes is the size of the cache.
	Bytes int64
	// CPUs load the working set, an equal part each.
	CPUs cpuset.CPUSet
	// Private is the size in bytes of the caches that a CPU has before the shared one.
	Private int64
}

const (
	// leastOfPrivate is how many times larger than the private caches the part of a CPU
	// is, so that most of its accesses reach the shared cache.
	leastOfPrivate = 3
	// residentPart of the cache is what surely stays there.
	residentPart = 0.125
)

// heldParts are the sizes of the working sets relative to the cache, and heldLevels how
// fast they are accessed. The slower accesses leave the cache time for others, the fastest
// tell by their rate how much of the working set is there.
var (
	heldParts  = []float64{0.25, 0.5, 0.75}
	heldLevels = []float64{0.25, 0.5, 1}
)

// HoldingOn says how an interferer on some CPUs keeps part of the last-level cache of an
// application; false unless both are behind exactly one that several cores share.
func HoldingOn(m *topology.Machine, target, pressing cpuset.CPUSet) (Holding, bool) {
	shared := m.SharedCaches(target)
	if len(shared) != 1 || pressing.IsEmpty() || !target.Union(pressing).IsSubsetOf(shared[0].CPUs) {
		return Holding{}, false
	}
	h := Holding{Bytes: shared[0].Bytes, Private: private(m, pressing)}
	most := int64(1)
	if h.Private > 0 {
		most = int64(heldParts[0]*float64(h.Bytes)) / (leastOfPrivate * h.Private)
	}
	near := pressing.List()
	h.CPUs = cpuset.New(near[:min(max(most, 1), int64(len(near)))]...)
	return h, true
}

// private returns the size of the largest cache before the last level that a CPU has.
func private(m *topology.Machine, cpus cpuset.CPUSet) (bytes int64) {
	for _, cpu := range cpus.UnsortedList() {
		last, _ := m.LastLevelCache(cpu)
		for _, c := range m.Caches {
			if c.Type != "Instruction" && c.Level < last.Level && c.CPUs.Contains(cpu) {
				bytes = max(bytes, c.Bytes)
			}
		}
	}
	return bytes
}

// ResidentOn returns how much each of some CPUs loads of a working set that fits easily into
// their last-level caches; false where the size of these is not known.
func ResidentOn(m *topology.Machine, cpus cpuset.CPUSet) (bytes int64, known bool) {
	last, known := m.LastLevelCacheBytes(cpus)
	if !known {
		return 0, false
	}
	h := Holding{Bytes: last, CPUs: cpus, Private: private(m, cpus)}
	return h.Resident().Footprint, true
}

// each returns how much a CPU loads of a working set, by its part of the cache.
func (h Holding) each(part float64) int64 {
	return int64(part*float64(h.Bytes)) / int64(h.CPUs.Size()) / units.LineBytes * units.LineBytes
}

// Total is the size of the working set of a pressure.
func (h Holding) Total(p Pressure) int64 { return p.Footprint * int64(h.CPUs.Size()) }

// Pressures are the working sets that can be told apart from the private caches, and how
// fast each is accessed; none where the shared cache is too small for that.
func (h Holding) Pressures() []Pressure {
	var all []Pressure
	for _, part := range heldParts {
		if h.each(part) < leastOfPrivate*h.Private {
			continue
		}
		for _, level := range heldLevels {
			all = append(all, Pressure{ReadShare: 1, Level: level, Pattern: interferer.Random, Footprint: h.each(part)})
		}
	}
	return all
}

// Beyond is a working set of which next to nothing stays in the cache.
func (h Holding) Beyond() Pressure {
	return Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Random, Footprint: h.each(interferer.CacheMultiple)}
}

// Resident is a working set that fits easily into the shared cache.
func (h Holding) Resident() Pressure {
	return Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Random, Footprint: max(h.each(residentPart), 2*h.Private)}
}

const (
	// nearlyAll is the part of a working set that is there when it is measured.
	nearlyAll = 0.95
	// longestFilling bounds the part of a slice that is waited for.
	longestFilling = 50 * time.Millisecond
)

// FillTime returns how long it takes to bring nearly all of a working set into the cache, by
// accesses in random order at the rates with which memory and cache answer them. Of n lines,
// x·n are there after -n·ln(1 - x) accesses, of which x·n have missed.
func FillTime(bytes int64, memory, resident units.Bandwidth) time.Duration {
	hits := -math.Log1p(-nearlyAll) - nearlyAll
	seconds := float64(bytes) * (nearlyAll/float64(memory) + hits/float64(resident))
	if !(seconds >= 0 && seconds < longestFilling.Seconds()) {
		return longestFilling
	}
	return time.Duration(seconds * float64(time.Second))
}

// Filled returns slices that begin to count once the cache has been filled. As much again
// counts.
func Filled(s modulation.Slicing, fill time.Duration) modulation.Slicing {
	return modulation.Slicing{Length: s.Length + 2*fill, Settle: s.Settle + fill}
}
