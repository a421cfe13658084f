package cache

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Source is an application that was measured beside interferers.
type Source struct {
	// Alone is its traffic alone.
	Alone  units.Traffic
	Points []Point
}

// leastApplications is the least number of applications with points of both kinds that a
// model is fitted to.
const leastApplications = 3

// mostFitted bounds the applications that the constants of a machine are fitted to.
const mostFitted = 24

// fullPort is the part of the highest rate of accesses beyond which the interferer waits for
// the port of the cache, so that its points do not serve.
const fullPort = 0.6

// Fit fits a model of a cache of a size, in bytes, and of the memory behind it to the
// applications that share both. It fails with memory.ErrNotEnough if there are too few.
func Fit(sources []Source, bytes float64) (*Model, *memory.Model, error) {
	chosen := choose(sources)
	m := &Model{bytes: bytes, policy: LeastRecent, fitted: len(chosen)}
	if len(chosen) < leastApplications {
		return nil, nil, fmt.Errorf("%w: %d applications beside an interferer in the cache, want %d or more",
			memory.ErrNotEnough, len(chosen), leastApplications)
	}
	m.survey(chosen)
	f := &fit{model: m, measured: chosen, applications: make([]Application, len(chosen))}
	for _, s := range chosen {
		f.sources = append(f.sources, Source{s.Alone, m.usable(s.Points, fewPoints)})
	}
	if err := f.fitMemory(); err != nil {
		return nil, nil, err
	}
	f.choosePolicy()
	for range refinements {
		f.fitWeights()
		if err := f.fitMemory(); err != nil {
			return nil, nil, err
		}
		f.fitApplications(false)
	}
	f.fitWeights()
	return m, f.memory, nil
}

// choose returns the first mostFitted sources with points of both kinds.
func choose(sources []Source) []Source {
	var chosen []Source
	for _, s := range sources {
		if s.random() && s.streaming() && len(chosen) < mostFitted {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// refinements is how often memory and applications are fitted to each other.
const refinements = 2

func (s *Source) random() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Footprint > 0 })
}

func (s *Source) streaming() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Footprint == 0 })
}

// survey finds the rates that were seen.
func (m *Model) survey(sources []Source) {
	var fastest units.Bandwidth
	for _, s := range sources {
		for _, p := range s.Points {
			if p.Footprint == 0 {
				fastest = max(fastest, p.Solo)
			} else {
				m.port = max(m.port, float64(p.Solo))
			}
		}
	}
	m.fill = m.bytes / float64(fastest)
}

// usable returns at most about so many points of each kind that serve for a fit, evenly.
func (m *Model) usable(points []Point, most int) []Point {
	var streaming, random []Point
	for _, p := range points {
		switch {
		case p.Footprint == 0:
			streaming = append(streaming, p)
		case float64(p.Achieved) <= fullPort*m.port:
			random = append(random, p)
		}
	}
	return append(stats.Evenly(streaming, most), stats.Evenly(random, most)...)
}

// fit is a fit in progress.
type fit struct {
	model        *Model
	memory       *memory.Model
	measured     []Source
	sources      []Source // those with the points that applications are fitted to
	applications []Application
	fitted       bool // whether applications are
}

// leastTraffic is the part of what the interferer reaches from which the traffic of an
// application says something about the memory.
const leastTraffic = 0.01

// fitMemory fits the memory to the streaming points. Applications that lose lines transfer
// more there than alone, by as much as the model says once they are fitted to it.
func (f *fit) fitMemory() error {
	var sources []memory.Source
	fastest := f.model.bytes / f.model.fill
	for i, s := range f.measured {
		if float64(s.Alone.Total()) < leastTraffic*fastest {
			continue
		}
		source := memory.Source{Phases: []memory.Phase{{TimeShare: 1, Alone: s.Alone}}}
		for j := range s.Points {
			p := &s.Points[j]
			if p.Footprint > 0 {
				continue
			}
			point := memory.Point{
				ReadShare: p.ReadShare, Solo: p.Solo, Achieved: p.Achieved, Performance: p.Performance, Interferers: p.Interferers,
			}
			if f.fitted {
				point.Growth = f.model.at(f.memory, &f.applications[i], p).growth
			}
			source.Points = append(source.Points, point)
		}
		sources = append(sources, source)
	}
	fitted, err := memory.Fit(sources, memory.LinkNone)
	if err != nil {
		return err
	}
	f.memory = fitted
	f.holdInFlight()
	return nil
}

// holdInFlight sets what the random interferer keeps in flight to what its fastest setting of
// the largest footprint needs alone.
func (f *fit) holdInFlight() {
	var largest Point
	for _, s := range f.sources {
		for _, p := range s.Points {
			if p.Footprint > largest.Footprint || p.Footprint == largest.Footprint && p.ReadShare == 1 && p.Solo > largest.Solo {
				largest = p
			}
		}
	}
	m := f.model
	s := largest.set(float64(largest.Solo))
	_, missing := s.at(m.policy, m.age(func(age float64) float64 {
		held, _ := s.at(m.policy, age)
		return held
	}))
	alone := units.Traffic{Read: largest.Solo * units.Bandwidth(missing)}
	m.inFlight = f.memory.InFlight(alone, m.extra(largest.Footprint))
}

// forPolicy is how many applications choose the policy.
const forPolicy = 10

// choosePolicy sets the policy to the one that describes some of the applications best, and
// fits all of them. Memory and weights are fitted for each policy: before, their errors are
// larger than what the policies differ by. The first has to be clearly worse than another,
// because what few points leave of it differs as much by chance.
func (f *fit) choosePolicy() {
	best, least := f.model.policy, math.Inf(1)
	for _, p := range Policies() {
		left := f.leftBy(p)
		if p != LeastRecent {
			left /= clearly
		}
		if left < least {
			best, least = p, left
		}
	}
	f.model.policy = best
	f.holdInFlight()
	f.fitApplications(true)
}

// leftBy returns the sum of squares that a policy leaves of some of the applications.
func (f *fit) leftBy(p Policy) float64 {
	model := *f.model
	model.policy = p
	some := &fit{model: &model, memory: f.memory, measured: stats.Evenly(f.measured, forPolicy), sources: stats.Evenly(f.sources, forPolicy)}
	some.applications = make([]Application, len(some.sources))
	some.holdInFlight()
	left := some.fitApplications(true)
	for range refinements {
		some.fitWeights()
		if some.fitMemory() != nil { // too few of them have traffic
			some.holdInFlight()
		}
		left = min(left, some.fitApplications(false))
	}
	return left
}

// fitApplications fits every application and returns the sum of squares that is left. At
// first it searches everywhere, later from where they are.
func (f *fit) fitApplications(first bool) (left float64) {
	sums := make([]float64, len(f.sources))
	parallel.Each(len(f.sources), func(i int) {
		s := search{f.model, f.memory, &f.sources[i]}
		var found candidate
		if first {
			found = s.everywhere()
		} else {
			found = s.near(f.applications[i])
		}
		f.applications[i], sums[i] = s.application(&found), found.squares
	})
	f.fitted = true
	for _, s := range sums {
		left += s
	}
	return left
}

// Bounds of a weight, and the steps of its search.
const (
	leastWeight = -0.3
	mostWeight  = 1.2
	weightSteps = 10
)

// fitWeights fits the weight of the random interferer at each footprint to all applications.
func (f *fit) fitWeights() {
	var footprints []float64
	for _, s := range f.sources {
		for _, p := range s.Points {
			if p.Footprint > 0 && !slices.Contains(footprints, p.Footprint) {
				footprints = append(footprints, p.Footprint)
			}
		}
	}
	slices.Sort(footprints)
	old := f.model.weights
	f.model.weights = nil
	for _, w := range footprints {
		before := Model{weights: old}
		f.model.weights = append(f.model.weights, weight{w, before.extra(w)})
	}
	for i := len(footprints) - 1; i >= 0; i-- {
		at := &f.model.weights[i]
		at.extra, _ = stats.GoldenSection(leastWeight, mostWeight, weightSteps, func(extra float64) float64 {
			at.extra = extra
			if i == len(footprints)-1 {
				f.holdInFlight()
			}
			return f.squaresAt(at.footprint)
		})
	}
	f.holdInFlight()
}

// squaresAt returns the sum of squares of the points of a footprint.
func (f *fit) squaresAt(footprint float64) float64 {
	sums := make([]float64, len(f.sources))
	parallel.Each(len(f.sources), func(i int) {
		s := search{f.model, f.memory, &f.sources[i]}
		for j := range f.sources[i].Points {
			if p := &f.sources[i].Points[j]; p.Footprint == footprint {
				for _, r := range s.residuals(&f.applications[i], p, nil) {
					sums[i] += r * r
				}
			}
		}
	})
	var sum float64
	for _, s := range sums {
		sum += s
	}
	return sum
}
