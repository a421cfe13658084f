package cache

import "math"

// Policy is how a cache chooses the line that it replaces.
type Policy string

const (
	// LeastRecent replaces the line that was not used for the longest time.
	LeastRecent Policy = "least-recent"
	// Random replaces any line.
	Random Policy = "random"
)

// Policies lists every Policy. A cache of another one is described by the one that fits
// better.
func Policies() []Policy { return []Policy{LeastRecent, Random} }

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

// farthest is the age, in mean times between uses × Order, at which no line is left unused.
const farthest = 700

// unused returns the part of the times between two uses that are longer than x mean ones,
// and the integral of that from 0 to x.
func (s *Set) unused(x float64) (longer, integral float64) {
	n := float64(s.Order)
	y := n * x
	if y > farthest {
		return 0, 1
	}
	term := math.Exp(-y)
	for i := range s.Order {
		longer += term
		integral += 1 - longer
		term *= y / float64(i+1)
	}
	return min(longer, 1), max(integral, 0) / n
}

// at returns the bytes of a set that are in the cache, and the part of its uses that miss,
// where lines stay for an age. Under random replacement that is the mean of a memoryless
// stay (StatCache, Berg and Hagersten, ISPASS 2004).
func (s *Set) at(p Policy, age float64) (held, missing float64) {
	x := age / s.Seconds
	if p != Random {
		missing, held = s.unused(x)
		return s.Bytes * held, missing
	}
	if x <= 0 {
		return 0, 1
	}
	n := float64(s.Order)
	missing = -math.Expm1(-n * math.Log1p(1/(n*x)))
	return s.Bytes * x * missing, missing
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
	sum := share{r.Stream * age, r.Stream, r.Stream * r.StreamWrites}
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
