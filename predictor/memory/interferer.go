package memory

// interferer is the interferer as a loop.
type interferer struct {
	inFlight float64 // in reads
	overlap  float64 // of its pacing with its requests
	// sustained is what one interferer reaches alone at its highest level.
	sustained line
}

// fewestReads keeps the requests in flight of an interferer that hardly reads finite.
const fewestReads = 0.05

// interferers returns the interferers of a sample, at its level, as one member. Their
// pacing is to them what computation is to an application.
func (m *Model) interferers(s sample) Member {
	i := &m.interferer
	alone := flow{s.solo * s.share, s.solo * (1 - s.share)}
	member := Member{
		alone: alone, delay: m.delay(alone), time: 1 / s.solo,
		loop: Loop{s.interferers * i.inFlight / max(s.share, fewestReads), i.overlap, 0},
	}
	if m.link.kind.Distant() {
		m.divideAway(&member, m.link.use(alone)/s.solo/s.interferers)
	} else {
		member.divide(member.time, 0)
	}
	return member
}
