package memory

import "bandmate.dev/bandmate/units"

// home returns a loop with this traffic alone, where curves are measured.
func (m *Model) home(alone flow, l Loop) Member {
	member := Member{alone: alone, loop: l, delay: m.delay(alone.scale(1 + l.extra))}
	total := alone.total()
	if total <= 0 {
		return member
	}
	member.time = 1 / total
	member.divide(member.time, 0)
	return member
}

// away returns a loop with this traffic alone as a co-runner.
func (m *Model) away(alone flow, l Loop) Member {
	total := alone.total()
	if total <= 0 || !m.link.kind.Distant() {
		return m.home(alone, l)
	}
	member := Member{alone: alone, loop: l, delay: m.delay(alone.scale(1 + l.extra)), time: 1 / total}
	m.divideAway(&member, m.link.use(alone)/total)
	return member
}

// divideAway divides the time of a member that comes over the link and takes so much of
// it per unit of traffic, where the link is its own.
func (m *Model) divideAway(x *Member, own float64) {
	rest := x.time
	if m.link.kind == LinkShared {
		x.use = m.link.use(x.alone)
		x.delay += m.link.wait(x.use)
	} else {
		x.link, rest = split(rest, own)
	}
	x.divide(rest, m.link.way)
}

// divide divides time between the memory, a way of the given delay included, and
// computation, for a member whose delay is that of its own load. By Little's law
// (Operations Research 9(3), 1961) its requests in flight take no longer than the time.
func (x *Member) divide(time, way float64) {
	k, inFlight := x.loop.overlap, x.loop.inFlight
	x.delay = max(min(x.delay, time*inFlight-way), 1)
	x.memory = min((x.delay+way)/inFlight, time)
	x.compute = max(power(time, k)-power(x.memory, k), 0)
}

// split returns the part of a member's time that a link of its own takes, to the power of
// linkOverlap, and the rest of the time. A member that is faster than its link should
// allow has a faster link.
func split(time, link float64) (onLink, rest float64) {
	whole := power(time, linkOverlap)
	onLink = min(power(link, linkOverlap), whole*(1-leastRest))
	return onLink, root(whole-onLink, linkOverlap)
}

// leastRest is the part of the time kept for the memory where a link seems to take it all.
const leastRest = 1e-3

// homeOf returns what the loop of a co-runner transfers alone as a target: its
// computation stays, and the way to the memory is gone.
func (m *Model) homeOf(x Member) flow {
	if x.time == 0 || !m.link.kind.Distant() {
		return x.alone
	}
	k, inFlight := x.loop.overlap, x.loop.inFlight
	missing := func(time float64) float64 {
		delay := m.delay(x.alone.scale(x.time / time * x.weight()))
		return root(x.compute+power(delay/inFlight, k), k)/time - 1
	}
	low, high := root(x.compute+power(1/inFlight, k), k), x.time
	if low >= high {
		return x.alone
	}
	above, below := missing(low), missing(high)
	if below >= 0 {
		return x.alone
	}
	time := low
	if above > solveClose {
		time = crossing(low, above, high, below, missing)
	}
	return x.alone.scale(x.time / time)
}

// Roles are an application in both roles, by phase.
type Roles struct {
	Home, Away []Member
	// HomeShares are the phases' shares of the time alone as a target.
	HomeShares []float64
}

// Place returns an application in both roles. phases are those of its run as a
// co-runner; home is its mean traffic as a target, zero where that is unknown.
func (m *Model) Place(phases []Phase, home units.Traffic, l Loop) Roles {
	var r Roles
	m.place(&r, phases, home, l)
	return r
}

// place is Place into memory that is used again.
func (m *Model) place(r *Roles, phases []Phase, home units.Traffic, l Loop) {
	r.Home, r.Away, r.HomeShares = r.Home[:0], r.Away[:0], r.HomeShares[:0]
	var lasts, moved float64 // as a target, relative to the run as a co-runner
	for _, p := range phases {
		away := m.away(m.flow(p.Alone), l)
		flow := m.homeOf(away)
		share := p.TimeShare
		if total := flow.total(); total > 0 {
			share *= away.alone.total() / total
		}
		lasts += share
		moved += p.TimeShare * away.alone.total()
		r.Away, r.HomeShares = append(r.Away, away), append(r.HomeShares, share)
		r.Home = append(r.Home, Member{alone: flow})
	}
	faster := 1.0
	if known := m.flow(home).total(); known > 0 && moved > 0 {
		faster = known * lasts / moved
	}
	for i := range r.Home {
		r.HomeShares[i] /= lasts
		r.Home[i] = m.home(r.Home[i].alone.scale(faster), l)
	}
}
