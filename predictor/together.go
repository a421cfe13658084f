package predictor

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// segment is a stretch of a run in one phase.
type segment struct {
	phase int
	part  float64 // of the time of the run alone as a co-runner; the segments add up to 1
}

// compileSequence returns the order of the phases of a time line: each of its
// samples belongs to the phase of the nearest bandwidth. It is nil where phases
// are known without their order.
func compileSequence(spec *v1alpha1.ApplicationProfileSpec, phases []phase) []segment {
	if len(phases) == 1 {
		return []segment{{0, 1}}
	}
	samples, err := timelineSamples(spec.Contentiousness.Timeline)
	if err != nil || len(samples) == 0 || len(spec.Phases) > 0 {
		return nil
	}
	whole := merge(samples)
	var sequence []segment
	for _, s := range samples {
		total := float64(s.traffic.Total() / whole.traffic.Total())
		nearest := slices.IndexFunc(phases, func(p phase) bool {
			return !slices.ContainsFunc(phases, func(q phase) bool { return math.Abs(q.total-total) < math.Abs(p.total-total) })
		})
		last := len(sequence) - 1
		if last >= 0 && sequence[last].phase == nearest {
			sequence[last].part += s.seconds / whole.seconds
			continue
		}
		sequence = append(sequence, segment{nearest, s.seconds / whole.seconds})
	}
	return sequence
}

// runner is an application on its way through its time line.
type runner struct {
	segments []segment
	seconds  func(segment) float64
	at       int
	left     float64 // seconds alone, of the segment
	done     float64 // seconds alone, in all
}

// newRunner returns application i at its start; false where the order or the
// length of its run is not known.
func (s *modelSolver) newRunner(i int) (runner, bool) {
	a := s.apps[i]
	if !(a.seconds > 0) || a.sequence == nil && !s.averaged[i] {
		return runner{}, false
	}
	away := a.seconds * a.slowerAway
	r := runner{segments: a.sequence, seconds: func(g segment) float64 { return g.part * away }}
	switch {
	case s.averaged[i]:
		r.segments = []segment{{0, 1}}
	case s.atHome(i):
		r.seconds = func(g segment) float64 {
			return g.part * a.seconds * a.calibrated.homeShares[g.phase] / a.phases[g.phase].timeShare
		}
	}
	r.left = r.seconds(r.segments[0])
	return r, true
}

// advance lets the runner do so many seconds of its work alone; true at the end of
// its run, from which it starts again.
func (r *runner) advance(seconds float64, segmentEnds bool) (ended bool) {
	r.done += seconds
	r.left -= seconds
	if !segmentEnds {
		return false
	}
	r.at++
	if ended = r.at == len(r.segments); ended {
		r.at = 0
	}
	r.left = r.seconds(r.segments[r.at])
	return ended
}

// mostSegments bounds the steps of runTogether for a long target beside very short
// co-runners.
const mostSegments = 10000

// runTogether sets the performance of everyone for a target that starts
// together with its co-runners, each of which starts again when it ends, until
// the target ends: the experiment of the paper (section 4.3). It returns false,
// and nothing is set, where an order of phases or a length is not known.
func (s *modelSolver) runTogether() bool {
	runners := make([]runner, len(s.apps))
	for i := range s.apps {
		var known bool
		if runners[i], known = s.newRunner(i); !known {
			return false
		}
	}
	var now float64
	ends := make([]float64, len(s.apps)) // of the segments, in seconds from now
	s.rates = resized(s.rates, len(s.apps))
	for range mostSegments {
		for i := range runners {
			s.combination[i] = runners[i].segments[runners[i].at].phase
		}
		solution, _ := s.solvePhases()
		for i := range runners {
			ends[i] = runners[i].left / float64(solution[i])
		}
		step := slices.MinFunc(ends, cmp.Compare[float64])
		now += step
		const simultaneous = 1 + 1e-9
		var ended bool
		for i := range runners {
			again := runners[i].advance(step*float64(solution[i]), ends[i] <= step*simultaneous)
			ended = ended || again && i == 0
		}
		if ended {
			for j := range runners {
				s.rates[j] = min(runners[j].done/now, 1)
			}
			s.correct()
			return true
		}
	}
	return false
}
