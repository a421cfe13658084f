package regime

import (
	"slices"
	"time"
)

// Tally counts the samples that were kept and dropped, by regime. The zero value is
// empty. It is not safe for concurrent use.
type Tally struct {
	counts map[Class]*Count
	total  time.Duration
}

// Count is the tally of one class.
type Count struct {
	Class Class
	// Kept samples began and ended in one regime of this class.
	Kept int
	// Dropped samples began in this class and ended in another regime.
	Dropped int
	// TimeShare is the part of the time of all samples, kept and dropped,
	// that went into those that began in this class; 0 to 1.
	TimeShare float64
	// RoundTrip is the median over the probes of kept samples; 0 without one.
	RoundTrip time.Duration

	time       time.Duration
	roundTrips []time.Duration
}

// Add records a sample that took elapsed between two probes, and reports
// whether it is to be kept: whether both are of the same regime.
func (t *Tally) Add(before, after Tag, elapsed time.Duration) (kept bool) {
	if t.counts == nil {
		t.counts = map[Class]*Count{}
	}
	count := t.counts[before.Class]
	if count == nil {
		count = &Count{Class: before.Class}
		t.counts[before.Class] = count
	}
	count.time += elapsed
	t.total += elapsed
	if !before.Same(after) {
		count.Dropped++
		return false
	}
	count.Kept++
	count.roundTrips = append(count.roundTrips, before.RoundTrip, after.RoundTrip)
	return true
}

// Counts returns the classes seen, nearest first.
func (t *Tally) Counts() []Count {
	var list []Count
	for _, class := range Classes() {
		count, seen := t.counts[class]
		if !seen {
			continue
		}
		c := Count{Class: class, Kept: count.Kept, Dropped: count.Dropped}
		if t.total > 0 {
			c.TimeShare = float64(count.time) / float64(t.total)
		}
		if n := len(count.roundTrips); n > 0 {
			sorted := slices.Sorted(slices.Values(count.roundTrips))
			c.RoundTrip = (sorted[(n-1)/2] + sorted[n/2]) / 2
		}
		list = append(list, c)
	}
	return list
}

// Main returns the class with most kept samples, the nearer one of two equals; false
// when no sample was kept.
func (t *Tally) Main() (Class, bool) {
	var best Count
	for _, c := range t.Counts() {
		if c.Kept > best.Kept {
			best = c
		}
	}
	return best.Class, best.Kept > 0
}
