package fast

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Resident is an application in a memory domain. Weight is that of its slowdown,
// such as the CPUs that it holds.
type Resident struct {
	Model  *Model
	Weight float64
}

// Steady returns a resident of which only the traffic is known.
func Steady(traffic units.Traffic) Resident { return Resident{Model: constant(traffic)} }

// nothing is a newcomer of which nothing is known.
var nothing = constant(units.Traffic{})

// Aggregate is the residents of a memory domain, added up once, so that a newcomer
// is estimated in nanoseconds however many they are. It is immutable and safe for
// concurrent use.
type Aggregate struct {
	// worst is true where the cost is the highest slowdown of anyone less 1, false
	// where it is the weighted sum of what the newcomer adds.
	worst   bool
	network exchange
	// busy is what the residents transfer by themselves in bytes per second, column
	// its column.
	busy, column float32
	byDelay      byDelay
	added        addedTable // where byDelay does not serve
}

// byDelay is what residents transfer together at each delay, and what they lose.
type byDelay struct {
	memory *memory.Model // nil where none describes everyone
	// alone is the delay without a newcomer, lost what the residents lose then.
	alone point
	lost  float32
	sums  sums // from where they are alone
}

// addedCells is the number of even steps of a newcomer's traffic in an addedTable.
const addedCells = 8

// addedTable is what a newcomer of a given traffic adds to the cost of residents
// together, by column, where their traffic tables serve.
type addedTable struct {
	perByte float32
	cost    [2][addedCells + 1]float32
}

// AddUp adds residents up in g, which must be new. Their cost with a newcomer is the
// weighted sum of the slowdown that it adds, or where worst is set the highest slowdown
// less 1.
func (g *Aggregate) AddUp(residents []Resident, worst bool) {
	g.worst = worst
	for _, r := range residents {
		g.network.busy += r.Model.network.busy
		g.network.stretch = withCost(worst, g.network.stretch, r.Model.network.stretch, float32(r.Weight))
	}
	if shared := sharedMemory(residents); shared != nil {
		g.addUpByDelay(shared, residents)
	} else {
		g.addUpByTraffic(residents)
	}
}

// withCost returns a cost together with what one resident loses.
func withCost(worst bool, cost, excess, weight float32) float32 {
	if worst {
		return max(cost, excess)
	}
	return cost + weight*excess
}

func (g *Aggregate) addUpByDelay(shared *memory.Model, residents []Resident) {
	d := &g.byDelay
	d.memory = shared
	for _, r := range residents {
		r.Model.addFlows(&d.sums, shared, r.Model.corunner())
	}
	behind := newBehind(shared, &d.sums)
	d.alone = solve(shared, 0, &d.sums, flows{})
	traffic := shared.Traffic(d.alone.flow(&d.sums))
	g.busy, g.column = float32(traffic.Total()), predictor.Column(traffic)
	worst, column := g.worst, g.column
	for _, r := range residents {
		if table := r.Model.corunner(); table != nil {
			half, reads, weight := &table.Excess[0], &table.Excess[1], float32(r.Weight)
			for place := range d.sums.all {
				cost := &d.sums.all[place].cost
				*cost = withCost(worst, *cost, half[place]+column*(reads[place]-half[place]), weight)
			}
		}
	}
	if behind != nil {
		behind.costs(&d.sums)
	}
	d.lost = d.sums.costAt(d.alone)
	d.sums.beginAt(d.alone.place)
}

func (g *Aggregate) addUpByTraffic(residents []Resident) {
	models := make([]*Model, 0, len(residents))
	for _, r := range residents {
		models = append(models, r.Model)
	}
	performance := fixedPoint(models)
	var sum units.Traffic
	var top float32
	for i, m := range models {
		sum = sum.Add(m.alone.Scale(float64(performance[i])))
		if m.perByte > 0 {
			top = max(top, cells/m.perByte)
		}
	}
	g.busy, g.column = float32(sum.Total()), predictor.Column(sum)
	if top == 0 {
		return
	}
	g.added.perByte = addedCells / top
	for i, r := range residents {
		others := max(g.busy-r.Model.traffic*performance[i], 0)
		before := r.Model.beside(others, g.column)
		for column := range g.added.cost {
			for cell := range g.added.cost[column] {
				newcomer, mixed := top*float32(cell)/addedCells, g.column
				if all := others + newcomer; all > 0 {
					mixed = (others*g.column + newcomer*float32(column)) / all
				}
				excess := 1/r.Model.beside(others+newcomer, mixed) - 1
				if !g.worst {
					excess -= 1/before - 1
				}
				cost := &g.added.cost[column][cell]
				*cost = withCost(g.worst, *cost, excess, float32(r.Weight))
			}
		}
	}
}

func (t *addedTable) at(traffic, column float32) float32 {
	x := min(traffic*t.perByte, farthest)
	cell := min(int(x), addedCells-1)
	part := x - float32(cell)
	lower := t.cost[0][cell] + part*(t.cost[0][cell+1]-t.cost[0][cell])
	upper := t.cost[1][cell] + part*(t.cost[1][cell+1]-t.cost[1][cell])
	return lower + column*(upper-lower)
}

// Reliable reports whether an estimate for the newcomer rests on a model of the
// memory that describes it and all residents: choosing by such estimates loses a
// few hundredths of what choosing by exact scores gains over chance. Others are
// good for a shortlist only, as are those of a newcomer and residents that exchange
// data over a network.
func (g *Aggregate) Reliable(newcomer *Model) bool {
	return newcomer != nil && newcomer.delay != nil && newcomer.delay.Model == g.byDelay.memory &&
		(newcomer.network == exchange{} || g.network == exchange{})
}

// Estimate returns about what the residents and a newcomer of a given weight lose
// because of the newcomer. A nil newcomer counts as nothing.
func (g *Aggregate) Estimate(newcomer *Model, weight float64) float64 {
	if newcomer == nil {
		newcomer = nothing
	}
	var own, residents float32
	if g.byDelay.memory != nil {
		own, residents = g.estimateByDelay(newcomer)
	} else {
		p := newcomer.beside(g.busy, g.column)
		own, residents = 1/p-1, g.added.at(newcomer.traffic*p, newcomer.column)
	}
	own += newcomer.network.stretch * g.network.busy
	residents += newcomer.network.busy * g.network.stretch
	if g.worst {
		return float64(max(own, residents))
	}
	return weight*float64(own) + float64(residents)
}

// estimateByDelay returns the slowdown of a newcomer less 1, and what the residents
// lose.
func (g *Aggregate) estimateByDelay(newcomer *Model) (own, residents float32) {
	d := &g.byDelay
	var at point
	if t := newcomer.delay; t != nil && t.Model == d.memory {
		at = solve(d.memory, d.alone.place, &d.sums, newcomer.flows(d.memory, t.Target))
		own = at.excess(t.Target, g.column)
	} else {
		// Slowed down by its traffic table, it presses on the others as alone.
		own = 1/newcomer.beside(g.busy, g.column) - 1
		at = solve(d.memory, d.alone.place, &d.sums, newcomer.flows(d.memory, nil))
	}
	residents = d.sums.costAt(at)
	if !g.worst {
		residents -= d.lost
	}
	return own, residents
}
