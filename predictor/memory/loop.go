package memory

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// Loop is how an application uses a memory: inFlight is the traffic that it keeps in
// flight, relative to Model.unit × the delay without load, and overlap how well it
// computes meanwhile: 1 where it waits for every request, higher where computation
// hides the delay until that is the longer one.
type Loop struct {
	inFlight, overlap float64
	// extra is how much more of the memory its traffic takes than the same traffic of
	// the interferer, relative: random accesses find fewer rows open.
	extra float64
}

// overlaps are the values of Loop.overlap that are tried.
var overlaps = [...]float64{1, 1.5, 2, 4}

// linkOverlap is how the time on the link of a distant application and the rest add
// up: link and memory are stations of one pipeline, whose slower station counts.
const linkOverlap = 4

// Member is a loop in one phase, beside others. Times are per unit of traffic.
type Member struct {
	alone   flow
	use     float64 // of a shared link alone; 0 for one that does not come over it
	delay   float64 // alone, with the wait for a shared link
	time    float64 // alone
	compute float64 // to the power of overlap
	memory  float64 // alone
	link    float64 // of an own link, to the power of linkOverlap; 0 without
	loop    Loop
	// grown is its traffic per unit of work ÷ that of alone − 1: above 0 where it has
	// lost lines of a shared cache.
	grown float64
}

// weight returns how much a unit of its traffic counts for.
func (x *Member) weight() float64 { return 1 + x.loop.extra }

// power raises t ≥ 0 to the power k.
func power(t, k float64) float64 {
	switch k {
	case 1:
		return t
	case 2:
		return t * t
	case 4:
		return t * t * (t * t)
	default:
		return math.Exp(k * math.Log(t))
	}
}

// root is the inverse of power.
func root(t, k float64) float64 {
	switch k {
	case 1:
		return t
	case 2:
		return math.Sqrt(t)
	case 4:
		return math.Sqrt(math.Sqrt(t))
	default:
		return math.Exp(math.Log(t) / k)
	}
}

// Constant returns a member that transfers the same whatever the delay.
func (m *Model) Constant(traffic units.Traffic) Member {
	return Member{alone: m.flow(traffic), loop: Loop{1, 1, 0}}
}

// moves returns what it transfers at a performance, by its weight in the memory.
func (x *Member) moves(performance float64) flow {
	return x.alone.scale(performance * (1 + x.grown) * x.weight())
}

// performance returns the performance of the member at a delay.
func (x *Member) performance(delay float64) float64 {
	more := delay - x.delay
	if more <= 0 && x.grown == 0 || x.time == 0 {
		return 1
	}
	k := x.loop.overlap
	time := root(x.compute+power((1+x.grown)*(x.memory+more/x.loop.inFlight), k), k)
	if x.link > 0 {
		time = root(x.link+power(time, linkOverlap), linkOverlap)
	}
	return min(x.time/time, 1)
}
