package cache

import "math"

// Policy is how a cache chooses the line that it replaces, as far as it shows in how long
// lines stay: at an age, a line stays for so long after its last use, in the mean.
type Policy struct {
	// Name is for people.
	Name string
	// order is how much alike these stays are: their times are the sum of so many
	// exponential ones (Erlang).
	order int
	// fresh is the stay of a line that was not used again after it had been brought in,
	// relative to that of others.
	fresh float64
}

// Policies that a cache is fitted to. The numbers are those that describe simulated caches of
// 16 ways (TestAgeAgainstSimulation).
var (
	// LeastRecent replaces the line of a set that was not used for the longest time, or
	// nearly so, as a tree of bits finds it.
	LeastRecent = Policy{"least-recent", 16, 1}
	// NotRecent replaces any line that was not used lately, by one bit for each.
	NotRecent = Policy{"not-recent", 4, 1}
	// Random replaces any line, or any but the one used last.
	Random = Policy{"random", 1, 1}
	// ReReference expects a line to be used again only after it was once (RRIP, Jaleel et
	// al., ISCA 2010), so that streams take less of the cache.
	ReReference = Policy{"re-reference", 8, 0.5}
)

// Policies lists every Policy. A cache of another one is described by the one that fits
// better.
func Policies() []Policy { return []Policy{LeastRecent, NotRecent, Random, ReReference} }

// Reuse is what an application asks of a cache, in its time alone.
type Reuse struct {
	// Stream is what it brings in and never uses again, in bytes per second.
	Stream float64
	// StreamWrites is the part of Stream that is written back, 0 to 1.
	StreamWrites float64
	// Sets are what it uses again.
	Sets []Set
	// Stores is the part of the uses of Sets that are stores, 0 to 1.
	Stores float64
}

// Set is memory that is used again and again.
type Set struct {
	// Bytes is its size and Seconds the mean time between two uses of a line, both
	// above 0.
	Bytes, Seconds float64
	// Order is how evenly spaced the uses of a line are, from 1 for uses at random. The
	// time between two is the sum of so many exponential ones (Erlang).
	Order int
}

// mostRegular is the Order of uses in turn.
const mostRegular = 64

// race returns the part of the times between two uses that are longer than a stay of x mean
// ones, of an order, and the mean of the shorter one of both, in mean times between uses. The
// time between uses ends with event number Order of its kind, the stay with event number order
// of its own, and the next event is one of the stay with the same chance whatever happened.
func (s *Set) race(order int, x float64) (missing, held float64) {
	if x <= 0 {
		return 1, 0
	}
	n, m := float64(s.Order), float64(order)
	chance := m / (m + n*x)
	ends, longer := math.Pow(chance, m), 0.0 // after j events of the use
	endsLater := ends * chance
	for j := range s.Order {
		missing += ends
		longer += endsLater
		ends *= (1 - chance) * (m + float64(j)) / float64(j+1)
		endsLater *= (1 - chance) * (m + 1 + float64(j)) / float64(j+1)
	}
	return min(missing, 1), min(max(1-missing-ends+x*longer, 0), 1)
}

// at returns the bytes of a set that are in the cache, and the part of its uses that miss,
// where lines stay for an age.
func (s *Set) at(p Policy, age float64) (held, missing float64) {
	x := age / s.Seconds
	missing, held = s.race(p.order, x)
	if p.fresh != 1 && missing > 0 {
		// A use is that of a fresh line where the one before missed.
		missingFresh, heldFresh := s.race(p.order, p.fresh*x)
		missing /= 1 - missingFresh + missing
		held = missing*heldFresh + (1-missing)*held
	}
	return s.Bytes * held, missing
}

// dirty returns the part of the lines that are written back when they are replaced, for
// uses of which stores are stores and missing miss.
func dirty(stores, missing float64) float64 {
	if stores <= 0 {
		return 0
	}
	return stores / (1 - (1-missing)*(1-stores))
}

// share is what an application has of the cache and moves to and from the memory.
type share struct {
	held        float64 // bytes
	read, write float64 // bytes per second of its time alone
}

func (s share) moved() float64 { return s.read + s.write }

// at returns the share of an application whose lines stay for an age in its time alone.
func (r *Reuse) at(p Policy, age float64) share {
	sum := share{r.Stream * p.fresh * age, r.Stream, r.Stream * r.StreamWrites}
	for i := range r.Sets {
		s := &r.Sets[i]
		held, missing := s.at(p, age)
		read := s.Bytes / s.Seconds * missing
		sum.held += held
		sum.read += read
		sum.write += read * dirty(r.Stores, missing)
	}
	return sum
}

// uses returns the bytes per second that it accesses, of its time alone.
func (r *Reuse) uses() float64 {
	sum := r.Stream
	for i := range r.Sets {
		sum += r.Sets[i].Bytes / r.Sets[i].Seconds
	}
	return sum
}
