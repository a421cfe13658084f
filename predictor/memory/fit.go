package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// MostFitted is the most applications that the constants of a model are fitted to; of more,
// those are chosen that spread over their traffic.
const MostFitted = 24

// Further limits on the data that constants are fitted to, which bound the time of a fit.
// Each application's own loop is fitted to all its points.
const (
	mostShares = 6
	mostLevels = 4
)

// ErrNotEnough is returned for curves too few to tell how the memory behaves.
var ErrNotEnough = errors.New("too few curves to fit a model of the memory")

// leastPoints is the least number of points that a model is fitted to: as many as it
// has constants.
const leastPoints = 12

// Fit fits a model to the curves of several applications. link says how co-runners and the
// interferer reach the memory; where it is unknown they are taken to be local. The capacity
// is fitted both freely and such that the interferer alone has the delay of its requests in
// flight; the better fit is kept. Fit fails with ErrNotEnough, and on invalid sources.
func Fit(sources []Source, link Link) (*Model, error) {
	if err := validate(sources); err != nil {
		return nil, err
	}
	fits := []*fit{newFit(sources, link, false)}
	if !link.Distant() { // over a link, the delay of the interferer is that of the way, too
		fits = append(fits, newFit(sources, link, true))
	}
	left := make([]float64, len(fits))
	parallel.Each(len(fits), func(i int) { left[i] = fits[i].minimize() })
	best, least := (*fit)(nil), math.Inf(1)
	for i, f := range fits {
		if left[i] < least {
			best, least = f, left[i]
		}
	}
	if best == nil {
		return nil, errors.New("no model of the memory describes the curves")
	}
	return best.model(best.theta), nil
}

// extraDeviation is the standard deviation that is expected of Loop.extra, leastExtra the
// least that it can be.
const (
	extraDeviation = 0.02
	leastExtra     = -0.5
)

// FitLoop returns the loop of one source, and the standard deviation of its points
// about the model. The source must be valid and have points.
func (m *Model) FitLoop(s Source) (Loop, float64) {
	r := m.newRun(s)
	m.fitLoop(&r, overlaps[:]...)
	m.refine(&r)
	var squares float64
	for _, sample := range r.samples {
		p, _ := m.beside(&r, sample)
		squares += square(p - sample.performance)
	}
	return r.loop, math.Sqrt(squares / float64(len(r.samples)))
}

func validate(sources []Source) error {
	points := 0
	for i, s := range sources {
		for j, p := range s.Points {
			if !(p.Solo > 0 && p.Achieved > 0 && p.Performance > 0) || !p.ReadShare.Valid() {
				return fmt.Errorf("source %d, point %d: %+v: want bandwidths and performance above 0", i, j, p)
			}
		}
		if len(s.Phases) == 0 {
			return fmt.Errorf("source %d has no phases", i)
		}
		points += len(s.Points)
	}
	if points < leastPoints {
		return fmt.Errorf("%w: %d points, want %d or more", ErrNotEnough, points, leastPoints)
	}
	return nil
}

// The constants that are fitted, by their place in the vector. All but bend are
// natural logarithms.
const (
	atLinear = iota
	atQueue
	atWriteQueue
	atInFlight
	atOverlap // less 1
	atBend
	atLowSlowness  // 1 ÷ capacity at the lowest read share
	atHighSlowness // at the highest
	atSpare
	atAway
	atLinkWrite
	atLinkQueue
	// atUneven is the first of the logarithms of slowness between the lowest read share and
	// the highest, relative to the line between them.
	atUneven
	constants = atUneven + mostShares - 2
)

// prior is what is expected of a constant before anything is measured, and its
// standard deviation. It decides only what the curves leave open.
type prior struct{ mean, deviation float64 }

// unevenDeviation is that of slowness from the line between the lowest read share and the
// highest.
const unevenDeviation = 0.15

// priors are wide: a deviation of 1 is a factor of 2.7. They are of the order of
// what the structure of a memory implies (delays double when banks are busy; a
// queue with in-order service would have queue = 1, reordering shortens it), and
// the same for all machines.
func priors() [constants]prior {
	all := [constants]prior{
		atLinear:       {math.Log(0.8), 1},
		atQueue:        {math.Log(0.1), 1.5},
		atWriteQueue:   {math.Log(0.8), 1.5},
		atInFlight:     {math.Log(5), 1.5},
		atOverlap:      {math.Log(2), 0.7},
		atBend:         {0.5, 1},
		atLowSlowness:  {0, 0.5}, // relative to the highest traffic that was seen
		atHighSlowness: {0, 0.5},
		atSpare:        {math.Log(0.01), 2},
		atAway:         {math.Log(0.7), 0.7},
		atLinkWrite:    {math.Log(0.8), 0.7},
		atLinkQueue:    {math.Log(0.05), 1.5},
	}
	for i := atUneven; i < constants; i++ {
		all[i].deviation = unevenDeviation
	}
	return all
}

// priorWeight is the performance that one deviation from a prior is worth.
const priorWeight = 0.01

// fit is a fit in progress.
type fit struct {
	pinned    bool
	link      Link
	unit      units.Bandwidth
	sustained line    // of one interferer
	mostSeen  float64 // traffic
	// inner are the read shares between the lowest and the highest at which the capacity
	// is fitted by itself: behind links, where the interferer alone does not fill the
	// memory, and where it has to be told from all of its curves.
	inner  []float64
	runs   []run
	theta  []float64 // constants, then ln(inFlight) of each run, then extra of each
	active []int     // which constants are fitted
}

func newFit(sources []Source, link Link, pinned bool) *fit {
	f := &fit{pinned: pinned, link: link}
	f.survey(sources)
	m := &Model{unit: f.unit}
	for _, s := range spreadSources(sources) {
		r := m.newRun(s)
		r.samples = representative(r.samples)
		if len(r.samples) > 0 {
			f.runs = append(f.runs, r)
		}
	}
	if link.Distant() {
		f.inner = innerShares(f.sustained)
	}
	for i := range constants {
		if i >= atUneven+len(f.inner) {
			continue
		}
		switch i {
		case atLowSlowness, atHighSlowness:
			if pinned {
				continue
			}
		case atSpare, atAway, atLinkWrite:
			if !link.Distant() {
				continue
			}
		case atLinkQueue:
			if link != LinkShared {
				continue
			}
		}
		f.active = append(f.active, i)
	}
	return f
}

// start sets all constants to their priors, with a capacity of the most traffic that
// was seen and some room besides, as a natural logarithm, and fits the loops to that.
// It returns the sum of squares.
func (f *fit) start(room float64) float64 {
	f.theta = make([]float64, constants+2*len(f.runs))
	for i, p := range priors() {
		f.theta[i] = p.mean
	}
	f.theta[atLowSlowness] -= room
	f.theta[atHighSlowness] -= room
	f.fitLoops(overlaps[0])
	return sumSquares(f.residuals(f.theta, nil))
}

// rooms are those that a second start tries.
var rooms = [...]float64{0.03, 0.06, 0.12, 0.25}

// startWithRoom starts with the room of the least sum of squares before any descent.
func (f *fit) startWithRoom() {
	var best []float64
	least := math.Inf(1)
	for _, room := range rooms {
		if left := f.start(room); left < least {
			best, least = f.theta, left
		}
	}
	if best != nil {
		f.theta = best
	}
}

// survey finds what one interferer sustains and the highest traffic that was seen.
func (f *fit) survey(sources []Source) {
	sustained := map[units.ReadShare]units.Bandwidth{}
	var most units.Bandwidth
	for _, s := range sources {
		own := s.mean()
		most = max(most, own)
		for _, p := range s.Points {
			one := p.Solo / units.Bandwidth(max(p.Interferers, 1))
			sustained[p.ReadShare] = max(sustained[p.ReadShare], one)
			f.unit = max(f.unit, one)
			most = max(most, own*units.Bandwidth(p.Performance)+p.Achieved)
		}
	}
	f.mostSeen = float64(most / f.unit)
	for _, share := range slices.Sorted(maps.Keys(sustained)) {
		f.sustained = append(f.sustained, node{float64(share), float64(sustained[share] / f.unit)})
	}
}

func (s *Source) mean() units.Bandwidth {
	var sum units.Bandwidth
	for _, p := range s.Phases {
		sum += p.Alone.Total() * units.Bandwidth(p.TimeShare)
	}
	return sum
}

// spreadSources returns at most MostFitted sources, evenly over their traffic, the lightest
// and the heaviest included.
func spreadSources(sources []Source) []Source {
	ordered := slices.Clone(sources)
	slices.SortStableFunc(ordered, func(a, b Source) int {
		return cmp.Compare(a.mean(), b.mean())
	})
	// The lightest are the most sensitive to the delay itself, and tell its scale.
	if len(ordered) <= MostFitted {
		return ordered
	}
	some := make([]Source, MostFitted)
	for i := range some {
		some[i] = ordered[i*(len(ordered)-1)/(MostFitted-1)]
	}
	return some
}

// representative returns some of the samples of a run: of up to mostShares curves
// as many levels each, evenly, the highest included.
func representative(samples []sample) []sample {
	var byShare [][]sample
	for i, s := range samples {
		if i == 0 || s.share != samples[i-1].share {
			byShare = append(byShare, nil)
		}
		last := len(byShare) - 1
		byShare[last] = append(byShare[last], s)
	}
	var some []sample
	for _, curve := range stats.Evenly(byShare, mostShares) {
		some = append(some, stats.Evenly(curve, mostLevels)...)
	}
	return some
}

// model returns the model of the constants theta.
func (f *fit) model(theta []float64) *Model {
	m := &Model{
		unit: f.unit, bend: theta[atBend],
		linear: math.Exp(theta[atLinear]), queue: math.Exp(theta[atQueue]), writeQueue: math.Exp(theta[atWriteQueue]),
		interferer: interferer{
			inFlight: math.Exp(theta[atInFlight]), overlap: 1 + math.Exp(theta[atOverlap]),
			sustained: f.sustained,
		},
	}
	if f.link.Distant() {
		m.link = link{kind: f.link, way: math.Exp(theta[atAway]), write: math.Exp(theta[atLinkWrite]), queue: math.Exp(theta[atLinkQueue])}
		for _, n := range f.sustained {
			m.link.capacity = max(m.link.capacity, m.link.reads(flow{n.value * n.share, n.value * (1 - n.share)}))
		}
		// Applications that were measured behind it may reach more than the interferer.
		for i := range f.runs {
			if f.runs[i].source.Home.Total() == 0 {
				continue
			}
			for _, p := range f.runs[i].source.Phases {
				m.link.capacity = max(m.link.capacity, m.link.reads(m.flow(p.Alone)))
			}
		}
		m.link.capacity *= 1 + math.Exp(theta[atSpare])
	}
	if f.pinned {
		m.pin()
		return m
	}
	last := len(f.sustained) - 1
	m.slowness = line{{f.sustained[0].share, math.Exp(theta[atLowSlowness]) / f.mostSeen}}
	if last > 0 {
		m.slowness = append(m.slowness, node{f.sustained[last].share, math.Exp(theta[atHighSlowness]) / f.mostSeen})
	}
	if len(f.inner) > 0 {
		uneven := line{m.slowness[0]}
		for i, share := range f.inner {
			uneven = append(uneven, node{share, m.inverseCapacity(share) * math.Exp(theta[atUneven+i])})
		}
		m.slowness = append(uneven, m.slowness[1])
	}
	return m
}

// innerShares returns at most mostShares − 2 of the read shares but the first and the last,
// evenly.
func innerShares(sustained line) []float64 {
	var shares []float64
	for i := 1; i < len(sustained)-1; i++ {
		shares = append(shares, sustained[i].share)
	}
	return stats.Evenly(shares, mostShares-2)
}

// leastLoad is the lowest load that the interferer alone is taken to cause.
const leastLoad = 0.05

// pin sets the capacity at every read share such that the interferer alone, at its
// highest level, has the delay of its requests in flight.
func (m *Model) pin() {
	m.slowness = make(line, len(m.interferer.sustained))
	for i, alone := range m.interferer.sustained {
		delay := m.interferer.inFlight / (max(alone.share, fewestReads) * alone.value)
		load := max(m.loadOf(delay, 1-alone.share), leastLoad)
		m.slowness[i] = node{alone.share, load / alone.value}
	}
}

// fitLoops fits the loops of all runs to the present constants.
func (f *fit) fitLoops(overlaps ...float64) {
	m := f.model(f.theta)
	for i := range f.runs {
		m.fitLoop(&f.runs[i], overlaps...)
		f.theta[constants+i] = math.Log(f.runs[i].loop.inFlight)
		f.theta[constants+len(f.runs)+i] = f.runs[i].loop.extra
	}
}

// clearlyLess is the highest part of the sum of squares at which a second start is
// preferred: two descents into one minimum differ by less.
const clearlyLess = 0.9

// minimize fits all constants and returns the remaining sum of squares. The first start
// suits most machines, but lies at the edge of a full memory, where one disturbed point can
// stop the descent. The second start is away from the edge.
func (f *fit) minimize() float64 {
	if f.pinned { // its capacity follows from the interferer
		f.start(0)
		return f.descendTwice()
	}
	again := *f
	again.runs = slices.Clone(f.runs)
	starts := []*fit{f, &again}
	var left, shortages [2]float64
	parallel.Each(len(starts), func(i int) {
		if i == 0 {
			starts[i].start(0)
		} else {
			starts[i].startWithRoom()
		}
		left[i] = starts[i].descendTwice()
		shortages[i] = starts[i].shortage()
	})
	if left[1]+shortages[1] < clearlyLess*(left[0]+shortages[0]) {
		*f, left[0] = again, left[1]
	}
	return left[0]
}

// shortage returns, as a sum of squares, how far loops have fewer requests in flight than
// their traffic alone requires at the modeled delay (Little, Operations Research 9(3),
// 1961). A fit with such loops explains noise by a memory that is too full.
func (f *fit) shortage() float64 {
	m := f.model(f.theta)
	var sum float64
	for i := range f.runs {
		var most float64
		r := f.runs[i]
		r.place(m)
		for _, phase := range r.roles.Home {
			most = max(most, phase.alone.total()*m.delay(phase.alone)/r.loop.inFlight)
		}
		if most > 1 {
			sum += square(priorWeight * math.Log(most) / shortDeviation)
		}
	}
	return sum
}

// shortDeviation is the standard deviation of a loop from Little's law, as a natural
// logarithm: phases and capacity are known to about that.
const shortDeviation = 0.25

// descendTwice descends, chooses overlaps, and descends again. It returns the
// remaining sum of squares.
func (f *fit) descendTwice() float64 {
	f.descend()
	f.fitLoops(overlaps[:]...)
	return f.descend()
}
