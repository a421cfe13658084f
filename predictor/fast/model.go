package fast

import (
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

const (
	// cells is the number of even steps of a traffic table, measured how many of them
	// lie up to the highest measured pressure. Four levels fall on steps.
	cells    = 36
	measured = 24
	// farthest bounds, in cells, how far the last step is continued.
	farthest = 1e6
)

// Model is an application reduced to its tables. It is immutable and safe for
// concurrent use.
type Model struct {
	response
	top     float32 // highest measured pressure, bytes per second
	alone   units.Traffic
	network exchange
	delay   *predictor.DelayTable // nil without a model of the memory
	// sensitive is false for an application without curves, which keeps its traffic.
	sensitive bool
}

// response is the traffic table, with the traffic of the application itself.
type response struct {
	traffic     float32 // total alone, bytes per second
	column      float32 // of that traffic
	perByte     float32 // cells per byte per second of others' traffic
	performance [cells + 1][2]float32
}

// New tabulates an application. What is unknown of it counts as nothing.
func New(a *predictor.Application) *Model {
	traffic, _ := a.Contentiousness()
	m := constant(traffic)
	m.network, m.delay = exchangeOf(a), a.DelayTable()
	m.sensitive, _ = a.Known()
	top := a.HighestPressure()
	if top <= 0 {
		return m
	}
	m.top, m.perByte = float32(top), measured/float32(top)
	var w predictor.Workspace
	for column, share := range predictor.Columns() {
		for cell := 1; cell <= cells; cell++ {
			p := a.Beside(units.TrafficOf(top*units.Bandwidth(cell)/measured, share))
			alone := []units.NormalizedPerformance{p}
			w.Communicate(alone, []*predictor.Application{a}, func(int) string { return "" })
			m.performance[cell][column] = float32(alone[0])
		}
	}
	return m
}

// constant returns a model that keeps its traffic and is not slowed down.
func constant(traffic units.Traffic) *Model {
	m := &Model{alone: traffic}
	m.traffic, m.column = float32(traffic.Total()), predictor.Column(traffic)
	for cell := range m.performance {
		m.performance[cell] = [2]float32{1, 1}
	}
	return m
}

// beside returns the performance beside traffic of others.
func (r *response) beside(traffic, column float32) float32 {
	x := traffic * r.perByte
	if !(x < cells) {
		return r.extrapolate(x, column)
	}
	return r.at(x, column)
}

// held is beside, held at the highest measured pressure. It is the inner loop of a
// matrix, so that at is written out.
func (r *response) held(traffic, column float32) float32 {
	x := traffic * r.perByte
	if !(x < measured) {
		last := &r.performance[measured]
		return last[0] + column*(last[1]-last[0])
	}
	cell := int(x)
	low, high := &r.performance[cell], &r.performance[cell+1]
	part := x - float32(cell)
	lower := low[0] + part*(high[0]-low[0])
	upper := low[1] + part*(high[1]-low[1])
	return lower + column*(upper-lower)
}

// at reads the table x steps, below cells, from its start.
func (r *response) at(x, column float32) float32 {
	cell := int(x)
	low, high := &r.performance[cell], &r.performance[cell+1]
	part := x - float32(cell)
	lower := low[0] + part*(high[0]-low[0])
	upper := low[1] + part*(high[1]-low[1])
	return lower + column*(upper-lower)
}

func (r *response) extrapolate(x, column float32) float32 {
	mix := func(row [2]float32) float32 { return row[0] + column*(row[1]-row[0]) }
	before, last := 1/mix(r.performance[cells-1]), 1/mix(r.performance[cells])
	return 1 / (last + (min(x, farthest)-cells)*(last-before))
}

// exchange is what a job exchanges over the network.
type exchange struct {
	// busy is the share of its run alone in which it uses the card, stretch the time
	// that it loses beside one that always does.
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
