package cache

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/predictor/memory"
)

// fewPoints is how many points of each kind serve for a fit.
const fewPoints = 30

// search is the search for one application.
type search struct {
	model  *Model
	memory *memory.Model
	source *Source
}

// candidate is a place in the space of applications: two numbers for each set, then those
// that follow, as logarithms or as named.
type candidate struct {
	at      []float64
	orders  []int
	overlap float64
	squares float64
}

// The numbers of a candidate after its sets.
const (
	ofStores = iota // logit
	ofInFlight
	ofExtra // not a logarithm
	ofWait
	others
)

// What is expected of the numbers, and how firmly: a deviation from it costs as much as a
// residual of this size.
const (
	setPrior      = 0.01  // per unit of the logarithms of size and uses, relative to what is expected
	expectedUses  = 0.3   // of a set per second ÷ the highest rate of accesses
	inFlightPrior = 0.005 // per unit of its logarithm
	extraPrior    = 0.1   // per unit
	waitPrior     = 0.002 // per unit of the logarithm
	expectedWait  = 0.05
	// sideWeight is that of rates and traffic, relative to performance.
	sideWeight = 0.5
	// surplusWeight is that of traffic which the application alone does not have.
	surplusWeight = 10
)

// application returns the application of a candidate.
func (s *search) application(c *candidate) Application {
	a, _ := s.build(c)
	return a
}

func (s *search) build(c *candidate) (a Application, surplus float64) {
	for i, n := range c.orders {
		a.reuse.Sets = append(a.reuse.Sets, Set{s.model.bytes * math.Exp(c.at[2*i]), s.model.fill * math.Exp(c.at[2*i+1]), n})
	}
	rest := c.at[2*len(c.orders):]
	a.reuse.Stores = 1 / (1 + math.Exp(-rest[ofStores]))
	a.loop = memory.NewLoop(math.Exp(rest[ofInFlight]), c.overlap, rest[ofExtra])
	a.wait = math.Exp(rest[ofWait])
	return a, s.model.place(&a, s.source.Alone)
}

// all returns the residuals of a candidate at points.
func (s *search) all(c *candidate, points []Point) []float64 {
	a, surplus := s.build(c)
	fastest := s.model.bytes / s.model.fill
	sets := len(c.orders)
	r := make([]float64, 0, 3*len(points)+2*sets+others)
	r = append(r, surplusWeight*surplus/fastest)
	for _, set := range a.reuse.Sets {
		r = append(r, setPrior*math.Log(set.Bytes/s.model.bytes), setPrior*math.Log(set.Bytes/set.Seconds/(expectedUses*s.model.port)))
	}
	rest := c.at[2*sets:]
	r = append(r, inFlightPrior*rest[ofInFlight], extraPrior*rest[ofExtra], waitPrior*(rest[ofWait]-math.Log(expectedWait)))
	for i := range points {
		r = s.residuals(&a, &points[i], r)
	}
	return r
}

// residuals appends those of one point.
func (s *search) residuals(a *Application, p *Point, to []float64) []float64 {
	b := s.model.at(s.memory, a, p)
	to = append(to, b.performance-float64(p.Performance), sideWeight*(b.achieved/float64(p.Achieved)-1)*float64(p.Achieved/p.Solo))
	if p.Total >= 0 {
		to = append(to, sideWeight*s.memory.Relative(p.Total)*(b.total/max(float64(p.Total), 1)-1))
	}
	return to
}

// Numbers that the search starts from.
var (
	startOrders   = [...]int{1, 4, mostRegular}
	startSizes    = [...]float64{-1.9, -0.7, 0.2}
	startTimes    = [...]float64{-1.5, 0, 1.5}
	startInFlight = [...]float64{-2.5, 0.3}
)

// Bounds of the search.
const (
	coarsePoints = 8 // of each kind, for the first look
	kept         = 3 // of the starts
	someSteps    = 6
	allSteps     = 40
	// clearly is the part of the squares that a set, or a policy, has to leave at most.
	clearly = 0.85
	// nearly is the part of the squares of the best candidate up to which an alternative is
	// as likely, alike that up to which it is the same one.
	nearly = 1.5
	alike  = 1.003
)

// MostAlternatives is how many descriptions of one application there are at most.
const MostAlternatives = 3

// weighed returns the squares of a candidate for a comparison with others: each set has to
// explain clearly more.
func (c *candidate) weighed() float64 {
	return c.squares / math.Pow(clearly, float64(len(c.orders)))
}

func byWeighed(a, b candidate) int { return cmp.Compare(a.weighed(), b.weighed()) }

// everywhere returns the best candidate.
func (s *search) everywhere() candidate {
	return s.descend(slices.MinFunc(s.promising(), byWeighed), s.source.Points, allSteps)
}

// alternatives returns candidates that explain the points nearly as well as the best one,
// which comes first.
func (s *search) alternatives() []candidate {
	all := s.promising()
	for i := range all {
		all[i] = s.descend(all[i], s.source.Points, allSteps)
	}
	slices.SortStableFunc(all, byWeighed)
	distinct := all[:1]
	for _, c := range all[1:] {
		last := distinct[len(distinct)-1].weighed()
		if at := c.weighed(); at > alike*last && at < nearly*all[0].weighed() && len(distinct) < MostAlternatives {
			distinct = append(distinct, c)
		}
	}
	return distinct
}

// promising returns candidates of no set, of one and of two, after some steps of their
// descent.
func (s *search) promising() []candidate {
	var all []candidate
	for _, overlap := range memory.Overlaps() {
		for _, inFlight := range startInFlight {
			all = append(all, candidate{at: []float64{-1, inFlight, 0, math.Log(expectedWait)}, overlap: overlap})
		}
	}
	none := s.best(all)[:1]
	all = nil
	for _, order := range startOrders {
		for _, size := range startSizes {
			for _, time := range startTimes {
				for _, inFlight := range startInFlight {
					all = append(all, candidate{at: []float64{size, time, -1, inFlight, 0, math.Log(expectedWait)}, orders: []int{order}, overlap: 1})
				}
			}
		}
	}
	one := s.best(all)
	for _, overlap := range memory.Overlaps()[1:] {
		other := one[0]
		other.overlap = overlap
		if other = s.descend(other, s.source.Points, someSteps); other.squares < one[0].squares {
			one[0] = other
		}
	}
	all = nil
	for _, order := range startOrders {
		for _, size := range startSizes {
			for _, time := range startTimes {
				at := slices.Concat(one[0].at[:2], []float64{size, time}, one[0].at[2:])
				all = append(all, candidate{at: at, orders: []int{one[0].orders[0], order}, overlap: one[0].overlap})
			}
		}
	}
	return slices.Concat(none, one, s.best(all))
}

// best returns the best of all candidates after some steps from the most promising ones, the
// best first.
func (s *search) best(all []candidate) []candidate {
	few := s.model.usable(s.source.Points, coarsePoints)
	for i := range all {
		all[i] = s.descend(all[i], few, 1)
	}
	bySquares := func(a, b candidate) int { return cmp.Compare(a.squares, b.squares) }
	slices.SortStableFunc(all, bySquares)
	all = all[:min(kept, len(all))]
	for i := range all {
		all[i] = s.descend(all[i], s.source.Points, someSteps)
	}
	slices.SortStableFunc(all, bySquares)
	return all
}

// near returns the candidate that descent from an application leads to.
func (s *search) near(a Application) candidate {
	c := candidate{}
	for _, set := range a.reuse.Sets {
		c.at = append(c.at, math.Log(set.Bytes/s.model.bytes), math.Log(set.Seconds/s.model.fill))
		c.orders = append(c.orders, set.Order)
	}
	inFlight, overlap, extra := a.loop.Numbers()
	stores := min(max(a.reuse.Stores, 1e-6), 1-1e-6)
	c.at = append(c.at, math.Log(stores/(1-stores)), math.Log(inFlight), extra, math.Log(a.wait))
	c.overlap = overlap
	return s.descend(c, s.source.Points, someSteps)
}

// FitApplication fits an application that shares a cache and a memory. It returns the
// descriptions that explain its points about as well, one to MostAlternatives, the best
// first, and the standard deviation of its points about the best.
func (m *Model) FitApplication(mem *memory.Model, source Source) ([]*Application, float64) {
	some := Source{source.Alone, m.usable(source.Points, fewPoints)}
	s := search{m, mem, &some}
	var fitted []*Application
	for _, c := range s.alternatives() {
		fitted = append(fitted, new(s.application(&c)))
	}
	var squares float64
	points := m.usable(source.Points, len(source.Points))
	for i := range points {
		d := m.at(mem, fitted[0], &points[i]).performance - float64(points[i].Performance)
		squares += d * d
	}
	return fitted, math.Sqrt(squares / float64(max(len(points), 1)))
}
