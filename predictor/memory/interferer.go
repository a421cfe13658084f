package memory

// interferer is the interferer as a loop.
type interferer struct {
	inFlight float64 // in reads
	overlap  float64 // of its pacing with its requests
	// distant is true where the interferer and all co-runners are at a distance.
	// spare is how much more than the interferer its link carries, and away the delay
	// of the distance.
	distant     bool
	spare, away float64
	// sustained is what one interferer reaches alone at its highest level.
	sustained line
}

// fewestReads keeps the requests in flight of an interferer that hardly reads finite.
const fewestReads = 0.05

// linkTime returns the time of a link per unit of traffic; 0 without links. It
// carries a little more than the interferer reached over it.
func (m *Model) linkTime(f flow) float64 {
	if !m.interferer.distant {
		return 0
	}
	return 1 / (m.interferer.sustained.at(f.read/f.total()) * (1 + m.interferer.spare))
}

// interferers returns the interferers of a sample, at its level, as one member. Their
// pacing is to them what computation is to an application.
func (m *Model) interferers(s sample) Member {
	i := &m.interferer
	alone := flow{s.solo * s.share, s.solo * (1 - s.share)}
	member := Member{
		alone: alone, delay: m.delay(alone), time: 1 / s.solo,
		loop: Loop{s.interferers * i.inFlight / max(s.share, fewestReads), i.overlap},
	}
	rest := member.time
	if link := m.linkTime(alone); link > 0 {
		member.link, rest = split(rest, link/s.interferers)
	}
	member.memory = min((member.delay+i.away)/member.loop.inFlight, rest)
	member.compute = max(power(rest, i.overlap)-power(member.memory, i.overlap), 0)
	return member
}

// split returns the part of a member's time that a link takes, to the power of
// linkOverlap, and the rest of the time. A member that is faster than its link
// should allow has a faster link.
func split(time, link float64) (onLink, rest float64) {
	whole := power(time, linkOverlap)
	onLink = min(power(link, linkOverlap), whole*(1-leastRest))
	return onLink, root(whole-onLink, linkOverlap)
}
