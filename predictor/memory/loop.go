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
}

// overlaps are the values of Loop.overlap that are tried.
var overlaps = [...]float64{1, 2, 4}

// linkOverlap is how the time on the link of a distant application and the rest add
// up: link and memory are stations of one pipeline, whose slower station counts.
const linkOverlap = 4

// Member is a loop in one phase, beside others. Times are per unit of traffic.
type Member struct {
	alone   flow
	delay   float64 // alone
	time    float64 // alone
	compute float64 // to the power of overlap
	memory  float64 // alone
	link    float64 // to the power of linkOverlap; 0 without a link
	loop    Loop
}

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

// Home returns a loop with this traffic alone, where its curves were measured.
func (m *Model) Home(alone units.Traffic, l Loop) Member { return m.home(m.flow(alone), l) }

func (m *Model) home(alone flow, l Loop) Member {
	member := Member{alone: alone, loop: l, delay: m.delay(alone)}
	total := alone.total()
	if total <= 0 {
		return member
	}
	member.time = 1 / total
	member.memory = min(member.delay/l.inFlight, member.time)
	member.compute = power(member.time, l.overlap) - power(member.memory, l.overlap)
	return member
}

// Away returns the same phase of a loop that transfers less because it is at a
// distance: its computation stays, and the rest of its time is that of the memory,
// of the way there, and of a link where there is one.
func (m *Model) Away(home Member, traffic units.Traffic) Member {
	member, alone := home, m.flow(traffic)
	member.alone, member.delay = alone, m.delay(alone)
	total := alone.total()
	if total <= 0 || home.time == 0 {
		return m.home(alone, home.loop) // nothing is known of how it computes
	}
	member.time = 1 / total
	rest := member.time
	if link := m.linkTime(alone); link > 0 {
		member.link, rest = split(rest, link)
	}
	k := home.loop.overlap
	whole := power(rest, k)
	member.compute = min(home.compute, whole*(1-leastRest))
	member.memory = root(whole-member.compute, k)
	return member
}

// Constant returns a member that transfers the same whatever the delay.
func (m *Model) Constant(traffic units.Traffic) Member {
	return Member{alone: m.flow(traffic), loop: Loop{1, 1}}
}

// leastRest is the part of the time kept for the memory where a link or computation
// seems to take it all.
const leastRest = 1e-3

// performance returns the performance of the member at a delay.
func (x *Member) performance(delay float64) float64 {
	more := delay - x.delay
	if more <= 0 || x.time == 0 {
		return 1
	}
	k := x.loop.overlap
	time := root(x.compute+power(x.memory+more/x.loop.inFlight, k), k)
	if x.link > 0 {
		time = root(x.link+power(time, linkOverlap), linkOverlap)
	}
	return min(x.time/time, 1)
}
