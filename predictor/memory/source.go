package memory

import (
	"math"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// Phase is a part of a run with steady traffic.
type Phase struct {
	// TimeShare is of the run alone, above 0; those of an application add up to 1.
	TimeShare float64
	// Alone is its traffic alone.
	Alone units.Traffic
}

// Point is one point of a sensitivity curve.
type Point struct {
	ReadShare units.ReadShare
	// Solo and Achieved are what the interferer reaches alone and beside the
	// application; both above zero.
	Solo, Achieved units.Bandwidth
	Performance    units.NormalizedPerformance
	// Interferers is their number; 0 means 1.
	Interferers int
	// Growth is by how much the application's traffic per unit of work exceeds that
	// alone, relative to it, because it has lost lines of a shared cache.
	Growth float64
}

// Source is an application whose curves were measured.
type Source struct {
	// Phases are those of its run alone as a co-runner.
	Phases []Phase
	// Home is its mean traffic alone as a target, where the curves were measured; zero
	// where that is unknown, or the same.
	Home   units.Traffic
	Points []Point
}

// sample is a point in the units of the model.
type sample struct {
	share, solo, achieved, performance, interferers, growth float64
}

// run is a source in the units of the model.
type run struct {
	source  Source
	samples []sample
	loop    Loop
	roles   Roles // that follow from the loop
}

func (m *Model) newRun(s Source) run {
	r := run{source: s, loop: Loop{1, 1, 0}}
	for _, p := range s.Points {
		r.samples = append(r.samples, sample{
			float64(p.ReadShare), float64(p.Solo / m.unit), float64(p.Achieved / m.unit), float64(p.Performance),
			float64(max(p.Interferers, 1)), p.Growth,
		})
	}
	return r
}

// place sets the roles.
func (r *run) place(m *Model) { m.place(&r.roles, r.source.Phases, r.source.Home, r.loop) }

// beside returns the performance beside the interferer, and what the interferer
// achieves.
func (m *Model) beside(r *run, s sample) (performance, achieved float64) {
	return m.besideMember(r, s, m.interferers(s))
}

// besideMember is beside for interferers given as a member.
func (m *Model) besideMember(r *run, s sample, interferers Member) (performance, achieved float64) {
	members := [2]Member{1: interferers}
	var performances [2]units.NormalizedPerformance
	var time, moved float64
	solo := interferers.alone.total()
	for i, home := range r.roles.Home {
		members[0] = home
		members[0].grown = s.growth
		m.Solve(members[:], performances[:])
		lasts := r.roles.HomeShares[i] / float64(performances[0])
		time += lasts
		moved += lasts * float64(performances[1]) * solo
	}
	return 1 / time, moved / time
}

// Beside returns the modeled performance of a loop beside the interferer at each
// point of s.
func (m *Model) Beside(s Source, l Loop) []units.NormalizedPerformance {
	r := m.newRun(s)
	r.loop = l
	r.place(m)
	performances := make([]units.NormalizedPerformance, len(r.samples))
	for i, sample := range r.samples {
		p, _ := m.beside(&r, sample)
		performances[i] = units.NormalizedPerformance(p)
	}
	return performances
}

// Bounds of the search for Loop.inFlight, as natural logarithms: first everywhere
// with a few samples, then near the best with all of them.
const (
	fewest, most = -7.0, 7.0
	coarseSteps  = 14
	nearby       = 0.25
	fineSteps    = 7
)

// significant is how many mean squared residuals a higher overlap has to take off
// the sum; chance takes off about 1. With fewer points only a tenfold reduction
// chooses a higher overlap.
const significant = 4

// fitLoop sets the loop of r, with one of the overlaps, that fits its samples best.
func (m *Model) fitLoop(r *run, overlaps ...float64) {
	few := *r
	few.samples = representative(r.samples)
	all := m.pressing(r.samples)
	some := m.pressing(few.samples)
	best, least := r.loop, math.Inf(1)
	for _, k := range overlaps {
		lost := func(of *run, pressing []Member) func(float64) float64 {
			return func(logarithm float64) float64 {
				of.loop = Loop{math.Exp(logarithm), k, r.loop.extra}
				of.place(m)
				return m.squares(of, pressing)
			}
		}
		at, value := stats.GoldenSection(fewest, most, coarseSteps, lost(&few, some))
		if len(few.samples) < len(r.samples) {
			at, value = stats.GoldenSection(at-nearby, at+nearby, fineSteps, lost(r, all))
		}
		if value < least*max(1-significant/float64(len(r.samples)), 0.1) {
			best, least = Loop{math.Exp(at), k, r.loop.extra}, value
		}
	}
	r.loop = best
}

// pressing returns the interferers of each sample.
func (m *Model) pressing(samples []sample) []Member {
	members := make([]Member, len(samples))
	for i, s := range samples {
		members[i] = m.interferers(s)
	}
	return members
}

// squares returns the sum of squared residuals of a run beside the interferers of
// its samples.
func (m *Model) squares(r *run, pressing []Member) float64 {
	var sum float64
	for i, s := range r.samples {
		p, g := m.besideMember(r, s, pressing[i])
		sum += square(p-s.performance) + square((g-s.achieved)/m.interferer.sustained.at(s.share))
	}
	return sum
}

func square(x float64) float64 { return x * x }
