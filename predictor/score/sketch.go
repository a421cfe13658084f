package score

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

// sketchCells is how many even steps of traffic a sketch has.
const sketchCells = 24

// sketchShares are the read shares of its two columns.
var sketchShares = [2]units.ReadShare{0.5, 1}

// Sketch is an application reduced to what a first, coarse look at thousands of
// domains needs: its mean traffic, and its slowdown beside steady traffic of
// others at two read shares. It is immutable and safe for concurrent use.
type Sketch struct {
	traffic float32 // total alone, bytes per second
	share   float32 // column of its read share: 0 for 50% or less, 1 for 100%
	perByte float32 // cells per byte per second of others' traffic
	excess  [2][sketchCells + 1]float32
	network exchange
	alone   units.Traffic
	// tendency is where a model of the memory describes it, else nil.
	tendency *predictor.Tendency
}

// exchange is a coarse look at what a job exchanges over the network.
type exchange struct {
	// busy is the share of its run alone in which it is on the card, stretch the
	// time that it loses beside one that always is.
	busy, stretch float32
}

func exchangeOf(a *predictor.Application) exchange {
	l := a.Communication()
	if l == nil {
		return exchange{}
	}
	share, known := l.Share()
	if !known {
		return exchange{}
	}
	x := exchange{busy: float32(share), stretch: float32(share)}
	if l.Overlapped() {
		x.stretch = max(2*x.busy-1, 0)
	}
	return x
}

// Sketcher makes sketches; it keeps memory from one to the next. The zero value
// is ready. It serves one goroutine at a time.
type Sketcher struct {
	workspace predictor.Workspace
	out       []units.NormalizedPerformance
}

// Sketch draws an application by predicting it beside others of which only the
// traffic is known, up to one and a half times what the memory was seen to
// give its interferer. What is unknown of the application counts as nothing.
func (s *Sketcher) Sketch(a *predictor.Application) *Sketch {
	k := &Sketch{network: exchangeOf(a)}
	traffic, _ := a.Contentiousness()
	k.alone, k.tendency = traffic, a.Tendency()
	k.traffic, k.share = float32(traffic.Total()), shareColumn(traffic)
	const beyond = 1.5
	top := a.HighestPressure() * beyond
	if top <= 0 {
		return k
	}
	k.perByte = sketchCells / float32(top)
	for column, share := range sketchShares {
		for cell := 1; cell <= sketchCells; cell++ {
			others := units.TrafficOf(top*units.Bandwidth(cell)/sketchCells, share)
			steady, err := Assumed("others", others)
			if err != nil {
				continue // rates within what a valid profile records are valid
			}
			s.out = s.workspace.Performances(s.out[:0], []*predictor.Application{a, steady})
			k.excess[column][cell] = float32(s.out[0].Slowdown()) - 1
		}
	}
	return k
}

// shareColumn places a read share between the columns of a sketch (eq. 3 of the
// paper); without traffic it does not matter.
func shareColumn(t units.Traffic) float32 {
	share, known := t.ReadShare()
	if !known {
		return 0
	}
	return float32(min(max((share-sketchShares[0])/(sketchShares[1]-sketchShares[0]), 0), 1))
}

// beside returns the slowdown beyond 1 beside traffic of others; beyond the last
// cell the last step goes on.
func (k *Sketch) beside(traffic, share float32) float32 {
	x := traffic * k.perByte
	if x <= 0 {
		return 0
	}
	cell := min(int(x), sketchCells-1)
	part := x - float32(cell)
	low, high := &k.excess[0], &k.excess[1]
	lower := low[cell] + part*(low[cell+1]-low[cell])
	upper := high[cell] + part*(high[cell+1]-high[cell])
	return lower + share*(upper-lower)
}

// addedCells is how many even steps of a newcomer's traffic a load is tabulated
// at.
const addedCells = 8

// addedTable is what a newcomer of a given traffic adds to the cost of the
// residents together, at the two read shares of a sketch.
type addedTable struct {
	perByte float32
	cost    [2][addedCells + 1]float32
}

func (t *addedTable) at(traffic, share float32) float32 {
	x := traffic * t.perByte
	if x <= 0 {
		return t.cost[0][0]
	}
	cell := min(int(x), addedCells-1)
	part := x - float32(cell)
	lower := t.cost[0][cell] + part*(t.cost[0][cell+1]-t.cost[0][cell])
	upper := t.cost[1][cell] + part*(t.cost[1][cell+1]-t.cost[1][cell])
	return lower + share*(upper-lower)
}

// Tabulate completes a load for Estimate, with one sketch for each resident; nil
// for one of which nothing is known. The load must not be in use by others yet.
func (s *Scorer) Tabulate(l *Load, sketches []*Sketch) {
	if l.crowd = crowdOf(l, sketches, s.options.Objective); l.crowd != nil {
		return
	}
	before := s.performances(l)
	for i, a := range l.apps {
		traffic, _ := a.Contentiousness()
		l.busy = l.busy.Add(traffic.Scale(float64(before[i])))
	}
	var top float32
	for _, k := range sketches {
		if k != nil && k.perByte > 0 {
			top = max(top, sketchCells/k.perByte)
		}
	}
	if top == 0 {
		return
	}
	l.added = addedTable{perByte: addedCells / top}
	busy, share := float32(l.busy.Total()), shareColumn(l.busy)
	for column := range l.added.cost {
		for cell := range l.added.cost[column] {
			newcomer := top * float32(cell) / addedCells
			l.added.cost[column][cell] = s.residentCost(l, before, sketches, busy, share, newcomer, float32(column))
		}
	}
}

// residentCost is what the residents lose beside a newcomer that transfers so
// much at the read share of a column.
func (s *Scorer) residentCost(l *Load, before []units.NormalizedPerformance, sketches []*Sketch, busy, share, newcomer, column float32) float32 {
	var cost float32
	for i, k := range sketches {
		if k == nil {
			continue
		}
		others := max(busy-k.traffic*float32(before[i]), 0)
		mixed := share
		if sum := others + newcomer; sum > 0 {
			mixed = (others*share + newcomer*column) / sum
		}
		after := k.beside(others+newcomer, mixed)
		if s.options.Objective == WorstSlowdown {
			cost = max(cost, after)
			continue
		}
		cost += float32(l.domain.Residents[i].CPUs) * (after - k.beside(others, share))
	}
	return cost
}

// Estimate is about what ScoreLoad would give as Cost, in nanoseconds: everyone
// at mean traffic and, where curves serve alone, nobody's slowdown coming back on
// the others. It serves to choose among many domains. The load must have been
// completed by Tabulate, and k be the newcomer's sketch; nil counts as nothing.
// Unlike the other methods it may be called from several goroutines.
// See Load.Fine for how good it is.
func (s *Scorer) Estimate(k *Sketch, cpus float64, l *Load) float64 {
	if k == nil {
		k = &Sketch{}
	}
	var own, residents float32
	if l.crowd != nil {
		own, residents = l.crowd.estimate(k, s.options.Objective)
	} else {
		own = k.beside(float32(l.busy.Total()), shareColumn(l.busy))
		residents = l.added.at(k.traffic/(1+own), k.share)
	}
	own += k.network.stretch * l.network.busy
	residents += k.network.busy * l.network.stretch
	if s.options.Objective == WorstSlowdown {
		return float64(max(own, residents))
	}
	return cpus*float64(own) + float64(residents)
}
