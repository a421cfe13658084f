package communication

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// Member is one of several applications that run beside each other.
type Member struct {
	// Load is its communication; nil when unknown.
	Load *Load
	// Memory is its slowdown by the memory traffic of all others, 1 or more.
	Memory units.Slowdown
	// Traffic is its memory traffic alone.
	Traffic units.Bandwidth
	// Card names the network card that it uses: those of one name share it.
	Card string
}

// Parts is a slowdown and what it is made of.
type Parts struct {
	// Slowdown is the whole.
	Slowdown units.Slowdown
	// Memory is the part of memory, Member.Memory.
	Memory units.Slowdown
	// Share is n, the part of the run alone that communication takes; 0 where
	// there is none or nothing is known of the network.
	Share float64
	// Bus is L, 1 where the profile holds it or it is not known (Gaps).
	Bus float64
	// Penalty is P, the time of the communication beside those of others ÷ its
	// time without them, on the busier side of the card; 1 where it is not known
	// (Gaps).
	Penalty float64
	// Latency is the part of Share that no neighbor stretches.
	Latency float64
	// Communicates is true where there is a Load; all but Slowdown and Memory
	// have no meaning without.
	Communicates, Overlapped, Apart bool
	Gaps                            Gap
}

const (
	mostSteps = 200
	converged = 1e-4 // change of a penalty that counts as none
)

// Combiner combines slowdowns and reuses its memory. The zero value is ready to use. It
// is not safe for concurrent use.
type Combiner struct {
	states  []state
	chances []float64
}

// state is a member during the iteration.
type state struct {
	out, in float64 // penalties
	loss    float64
	time    float64 // of the run, alone 1
}

// Combine appends to dst the slowdown of every member beside all others and returns it.
//
// Communications coincide at random: each is on the card for its share of its own run. A
// communication that coincides with k others in the share w(k) of its time proceeds at
// the mean of its rates,
//
//	P = 1 ÷ Σ w(k) ÷ penalty(1 + k)
//
// All P are found by iteration from 1, which rises to the least fixed point. The card
// then never carries more than its capacity.
func (c *Combiner) Combine(dst []Parts, members []Member) []Parts {
	c.states = c.states[:0]
	var traffic units.Bandwidth
	for i := range members {
		m := &members[i]
		c.states = append(c.states, state{out: 1, in: 1, loss: 1, time: float64(m.Memory)})
		traffic += m.Traffic / units.Bandwidth(m.Memory)
	}
	for i := range members {
		m := &members[i]
		if l := m.Load; l != nil && l.apart && l.machine != nil && l.machine.bus != nil && l.gaps&NoNetwork == 0 {
			own := m.Traffic / units.Bandwidth(m.Memory)
			beside := units.Bandwidth(0) // while it waits it does not compute
			if l.overlapped {
				beside = own
			}
			c.states[i].loss = l.machine.loss(beside, max(traffic-own, 0))
		}
		c.states[i].time = c.states[i].whole(m)
	}
	solved := c.solve(members)
	for i := range members {
		p := c.parts(i, &members[i], members)
		if !solved && p.Communicates {
			p.Gaps |= NotConverged
		}
		dst = append(dst, p)
	}
	return dst
}

func (c *Combiner) solve(members []Member) bool {
	for range mostSteps {
		var change float64
		for i := range members {
			m := &members[i]
			if m.Load == nil || m.Load.gaps&NoNetwork != 0 {
				continue
			}
			s := &c.states[i]
			out, in := s.out, s.in
			if m.Load.out > 0 {
				s.out = c.penalty(i, members, m.Load.machine.leaving, true)
			}
			if m.Load.in > 0 {
				s.in = c.penalty(i, members, m.Load.machine.arriving, false)
			}
			s.time = s.whole(m)
			// A penalty may rise behind computing before it shows in the time.
			change = max(change, math.Abs(s.out-out), math.Abs(s.in-in))
		}
		if change < converged {
			return true
		}
	}
	return false
}

// peers reports whether member j is another one that communicates over the card
// of member i.
func peers(members []Member, i, j int) bool {
	l := members[j].Load
	return i != j && l != nil && l.gaps&NoNetwork == 0 && members[i].Card == members[j].Card
}

// penalty is P of member i on one side of the card.
func (c *Combiner) penalty(i int, members []Member, known []float64, leaving bool) float64 {
	if len(known) == 0 {
		return 1
	}
	// chances[k] is the share of the time in which k others are on the card.
	c.chances = append(c.chances[:0], 1)
	for j := range members {
		if !peers(members, i, j) {
			continue
		}
		busy := c.states[j].busy(members[j].Load, leaving)
		if busy == 0 {
			continue
		}
		c.chances = append(c.chances, 0)
		for k := len(c.chances) - 1; k > 0; k-- {
			c.chances[k] = c.chances[k]*(1-busy) + c.chances[k-1]*busy
		}
		c.chances[0] *= 1 - busy
	}
	var rate float64
	for k, chance := range c.chances {
		rate += chance / penalty(known, k+1)
	}
	return 1 / rate
}

// busy is the share of the time in which a member is on one side of the card.
func (s *state) busy(l *Load, leaving bool) float64 {
	stretched := l.in * s.in
	if leaving {
		stretched = l.out * s.out
	}
	return min(stretched*s.loss/s.time, 1)
}

// stretched is the time of the communication, but for the latency.
func (s *state) stretched(l *Load) float64 { return max(l.out*s.out, l.in*s.in) * s.loss }

// whole is the time of the run.
func (s *state) whole(m *Member) float64 {
	l, memory := m.Load, float64(m.Memory)
	if l == nil || l.gaps&NoNetwork != 0 {
		return memory
	}
	alone := max(l.out, l.in)
	switch {
	case l.overlapped:
		return max(memory, s.stretched(l)+l.waiting)
	case l.apart:
		return (1-alone-l.waiting)*memory + s.stretched(l) + l.waiting
	}
	return memory + s.stretched(l) - alone
}

func (c *Combiner) parts(i int, m *Member, members []Member) Parts {
	s := &c.states[i]
	p := Parts{Slowdown: units.Slowdown(s.time), Memory: m.Memory, Bus: 1, Penalty: 1}
	l := m.Load
	if l == nil {
		return p
	}
	p.Communicates, p.Overlapped, p.Apart, p.Gaps = true, l.overlapped, l.apart, l.gaps
	if l.gaps&NoNetwork != 0 {
		return p
	}
	p.Share, _ = l.Share()
	p.Latency, p.Bus = l.waiting, s.loss
	if alone := max(l.out, l.in); alone > 0 {
		p.Penalty = s.stretched(l) / s.loss / alone
	}
	leaving, arriving := 1, 1
	for j := range members {
		other := members[j].Load
		if j != i && other == nil {
			p.Gaps |= PeersUnknown
		}
		if peers(members, i, j) && other.out > 0 {
			leaving++
		}
		if peers(members, i, j) && other.in > 0 {
			arriving++
		}
	}
	if l.out > 0 && leaving > max(1, len(l.machine.leaving)) || l.in > 0 && arriving > max(1, len(l.machine.arriving)) {
		p.Gaps |= BeyondModel
	}
	return p
}
