package cache

import (
	"math"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Model is a cache before a memory. It is immutable and safe for concurrent use.
type Model struct {
	bytes  float64
	policy Policy
	// fill is the time, in seconds, that the interferer takes to fill the cache.
	fill float64
	// port is the highest rate of accesses that was seen, in bytes per second.
	port float64
	// inFlight is the traffic that the random interferer keeps in flight, in the units of
	// a memory.Loop, and weights what its traffic weighs in the memory, by footprint.
	inFlight float64
	weights  []weight
	// fitted is how many applications the constants were fitted to.
	fitted int
}

// weight is how much more of the memory the traffic of a random interferer of a footprint
// takes than that of a stream, relative.
type weight struct{ footprint, extra float64 }

// Bytes returns the size of the cache.
func (m *Model) Bytes() float64 { return m.bytes }

// Fitted returns how many applications the constants of m were fitted to.
func (m *Model) Fitted() int { return m.fitted }

// Resized returns the model of a cache of another size, relative to that of m.
func (m *Model) Resized(size float64) *Model {
	other := *m
	other.bytes *= size
	return &other
}

// Application is an application before a cache and a memory, fitted by Model.FitApplication.
type Application struct {
	reuse Reuse
	loop  memory.Loop
	// alone is the age of lines in seconds where it has the cache to itself.
	alone float64
	// wait is by how much its time grows, relative, while others use the port of the cache
	// at its highest rate.
	wait float64
	// most is its traffic if nothing hits, and part of that is what it transfers alone.
	most, part float64
}

// hit is the delay of a hit in the cache, relative to that of the memory without load: what
// an access waits for in either case.
const hit = 0.2

// Bounds of an age, relative to Model.fill.
const (
	youngest = 1e-6
	oldest   = 1e6
)

// age returns the age at which held, which increases with it, is the size of the cache; the
// oldest where everything fits.
func (m *Model) age(held func(age float64) float64) float64 {
	low, high := math.Log(youngest*m.fill), math.Log(oldest*m.fill)
	off := func(x float64) float64 { return math.Log(max(held(math.Exp(x))/m.bytes, 1e-12)) }
	above, below := off(high), off(low)
	if above <= 0 {
		return math.Exp(high)
	}
	if below >= 0 {
		return math.Exp(low)
	}
	return math.Exp(root(low, below, high, above, off))
}

// Bounds of root.
const (
	fewSteps    = 12
	mostSteps   = 60
	rootNear    = 1e-10
	rootNarrows = 1e-12
)

// root returns where f, from below < 0 at low to above > 0 at high, is 0: by regula falsi
// in the Illinois form (Dowell and Jarratt, BIT 11, 1971), then every other step by halves.
func root(low, below, high, above float64, f func(float64) float64) float64 {
	x, side := low, 0
	for step := range mostSteps {
		x = (low*above - high*below) / (above - below)
		if step > fewSteps && step%2 == 0 {
			x = (low + high) / 2
		}
		switch value := f(x); {
		case value > rootNear:
			if high, above = x, value; side > 0 {
				below /= 2
			}
			side = 1
		case value < -rootNear:
			if low, below = x, value; side < 0 {
				above /= 2
			}
			side = -1
		default:
			return x
		}
		if high-low < rootNarrows {
			break
		}
	}
	return x
}

// place completes an application whose sets, stores and loop are known by its traffic
// alone: the rest of what it reads is a stream. It returns by how much the sets alone read
// more than the application, in bytes per second.
func (m *Model) place(a *Application, alone units.Traffic) (surplus float64) {
	r := &a.reuse
	read, write := float64(alone.Read), float64(alone.Write)
	r.Stream, r.StreamWrites = 0, 0
	a.alone = m.age(func(age float64) float64 {
		s := r.at(m.policy, age)
		return s.held + max(read-s.read, 0)*m.policy.fresh*age
	})
	s := r.at(m.policy, a.alone)
	r.Stream = max(read-s.read, 0)
	if r.Stream > 0 {
		r.StreamWrites = min(max((write-s.write)/r.Stream, 0), 1)
	}
	most := r.at(m.policy, 0)
	a.most = most.moved()
	if a.most > 0 {
		a.part = r.at(m.policy, a.alone).moved() / a.most
	}
	return max(s.read-read, 0)
}

// loopAt returns an application as a loop before the memory, where its lines stay for an age
// in its time alone.
func (m *Model) loopAt(mem *memory.Model, a *Application, age float64) memory.Member {
	s := a.reuse.at(m.policy, age)
	moved := s.moved()
	if moved <= 0 {
		return mem.Constant(units.Traffic{})
	}
	most := units.Traffic{Read: units.Bandwidth(s.read / moved * a.most), Write: units.Bandwidth(s.write / moved * a.most)}
	return mem.Cached(most, a.part, hit, a.loop).Missing(moved / a.most)
}
