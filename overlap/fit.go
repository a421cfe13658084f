package overlap

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/units"
)

// Fit derives the parameters from a sweep that holds the local placement, all
// data on node 0, and on a machine with several sockets the remote one, all data
// on node nodesPerSocket. Rows of other placements are for Evaluate only.
//
// The paper reads the parameters off minima and maxima (section IV.A.2), which are
// sensitive to noise. Here they are the start of a search for the parameters with
// the least squared relative error of all four bandwidths.
func Fit(s Sweep, nodesPerSocket int) (Parameters, error) {
	if err := s.Validate(); err != nil {
		return Parameters{}, err
	}
	if nodesPerSocket < 1 {
		return Parameters{}, fmt.Errorf("%d NUMA nodes per socket: want 1 or more", nodesPerSocket)
	}
	p := Parameters{NodesPerSocket: nodesPerSocket}
	local := s.at(Placement{})
	if len(local) == 0 {
		return p, errors.New("the sweep has no rows with computation and communication on node 0: the local parameters come from them")
	}
	var err error
	if p.Local, err = fitInstance(local); err != nil {
		return p, fmt.Errorf("local: %w", err)
	}
	if remote := s.at(Placement{nodesPerSocket, nodesPerSocket}); len(remote) > 0 {
		m, err := fitInstance(remote)
		if err != nil {
			return p, fmt.Errorf("remote: %w", err)
		}
		p.Remote = &m
	}
	return p, nil
}

// minCores is the least number of cores of a fit.
const minCores = 2

func fitInstance(points []Point) (Instance, error) {
	if len(points) < minCores {
		return Instance{}, fmt.Errorf("%d number of cores: want the sweep from 1 to %d at least", len(points), minCores)
	}
	start, last := read(points), points[len(points)-1].Cores
	// The two numbers of cores are whole, and the maximum of the total hides how
	// far its flat part went where cores ask for less: try those around.
	best := candidate{start, misfit(start, points)}
	if best.misfit < exact {
		return start, start.Validate()
	}
	var candidates []candidate
	for total := max(1, start.TotalCores-reach); total <= min(last, start.TotalCores+reach); total++ {
		for alone := max(1, start.ComputationAloneCores-reach); alone <= min(last, start.ComputationAloneCores+reach); alone++ {
			m := start.with(total, alone, points)
			candidates = append(candidates, candidate{m, misfit(m, points)})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.misfit, b.misfit) })
	for _, c := range candidates[:min(refined, len(candidates))] {
		for _, c := range []candidate{c, refine(c.Instance, points)} {
			if c.misfit < best.misfit && c.Validate() == nil {
				best = c
			}
		}
		if best.misfit < exact {
			break
		}
	}
	return best.Instance, best.Validate()
}

// candidate is an instance with its misfit.
type candidate struct {
	Instance
	misfit float64
}

const (
	// refined is the number of candidates to refine.
	refined = 8
	// restarts bounds the searches from one candidate, each from the end of the
	// last. A search that gains less than gain is the last.
	restarts = 5
	gain     = 0.1
	// exact is the mean squared relative error of rounding.
	exact = 1e-20
)

// leastOfMeasured bounds the fitted share of communication from below, as a part of the
// least measured one: nothing determines it where the cores leave the bus room.
const leastOfMeasured = 0.5

// reach bounds the distance of the numbers of cores from those read off.
const reach = 3

// read reads the parameters off minima and maxima, as the paper does.
func read(points []Point) Instance {
	var m Instance
	alone := make([]float64, len(points))
	for i, p := range points {
		alone[i] = float64(p.Alone.Communication)
	}
	m.CommunicationAlone = units.Bandwidth(stat.Mean(alone, nil))
	m.ComputationPerCore = points[0].Alone.Computation
	m.LeastCommunicationShare = 1
	for _, p := range points {
		if p.Alone.Computation > m.ComputationAlone*(1+flat) {
			m.ComputationAlone, m.ComputationAloneCores = p.Alone.Computation, p.Cores
		}
		if p.Together.Total() >= m.Total*(1-flat) {
			m.Total, m.TotalCores = max(m.Total, p.Together.Total()), p.Cores
		}
		m.LeastCommunicationShare = min(m.LeastCommunicationShare, float64(p.Together.Communication/m.CommunicationAlone))
	}
	m.TotalAtComputationAloneCores = points[m.ComputationAloneCores-1].Together.Total()
	last := points[len(points)-1]
	m.slopes(last.Together.Total(), last.Cores)
	return m
}

// flat is the relative difference of bandwidths that are equal but for rounding.
const flat = 1e-9

// slopes sets δ_l and δ_r from the totals, the last of which is that of the last
// number of cores.
func (m *Instance) slopes(lastTotal units.Bandwidth, last int) {
	m.LossBefore, m.LossAfter = 0, 0
	if n := m.ComputationAloneCores - m.TotalCores; n > 0 {
		m.LossBefore = (m.Total - m.TotalAtComputationAloneCores) / units.Bandwidth(n)
	}
	if n := last - m.ComputationAloneCores; n > 0 {
		m.LossAfter = (m.TotalAtComputationAloneCores - lastTotal) / units.Bandwidth(n)
	}
}

// with returns m with other numbers of cores. Where the flat part of the total gets
// shorter, the falling part is extended in a straight line.
func (m Instance) with(total, alone int, points []Point) Instance {
	if total < m.TotalCores {
		m.Total += m.LossBefore * units.Bandwidth(m.TotalCores-total)
	}
	m.TotalCores, m.ComputationAloneCores = total, alone
	m.TotalAtComputationAloneCores = points[alone-1].Together.Total()
	if alone <= total {
		m.TotalAtComputationAloneCores = m.Total
	}
	last := points[len(points)-1]
	m.slopes(last.Together.Total(), last.Cores)
	return m
}

// refine fits all bandwidths for the given numbers of cores.
func refine(start Instance, points []Point) candidate {
	last := points[len(points)-1]
	scale := []float64{
		float64(start.CommunicationAlone), 1, float64(start.ComputationPerCore), float64(start.ComputationAlone),
		float64(start.Total), float64(start.TotalAtComputationAloneCores), float64(last.Together.Total()),
	}
	at := func(x []float64) Instance {
		m := start
		m.CommunicationAlone = units.Bandwidth(x[0] * scale[0])
		m.LeastCommunicationShare = math.Min(1, math.Max(x[1], leastOfMeasured*start.LeastCommunicationShare))
		m.ComputationPerCore = units.Bandwidth(x[2] * scale[2])
		m.ComputationAlone = units.Bandwidth(math.Max(x[3]*scale[3], x[2]*scale[2]))
		m.Total = units.Bandwidth(x[4] * scale[4])
		m.TotalAtComputationAloneCores = units.Bandwidth(x[5] * scale[5])
		if m.ComputationAloneCores <= m.TotalCores {
			// T(n) has no middle part.
			m.TotalAtComputationAloneCores = m.Total
		}
		m.slopes(units.Bandwidth(x[6]*scale[6]), last.Cores)
		return m
	}
	cost := func(x []float64) float64 {
		for i, v := range x {
			if !(v > 0) && i != 1 {
				return math.Inf(1)
			}
		}
		return misfit(at(x), points)
	}
	best := optimize.Location{X: []float64{1, start.LeastCommunicationShare, 1, 1, 1, 1, 1}, F: math.Inf(1)}
	// A simplex that has shrunk at a kink is replaced by a fresh one.
	for range restarts {
		result, err := optimize.Minimize(optimize.Problem{Func: cost}, best.X, &optimize.Settings{
			FuncEvaluations: 4000,
			Converger:       &optimize.FunctionConverge{Absolute: 1e-12, Iterations: 200},
		}, &optimize.NelderMead{SimplexSize: 0.02})
		// Running out of evaluations is not a failure: what was found is compared.
		if result == nil || err != nil && result.Status != optimize.FunctionEvaluationLimit || !(result.F < best.F*(1-gain)) {
			break
		}
		best = result.Location
	}
	return candidate{at(best.X), best.F}
}

// misfit is the mean squared relative error of all four bandwidths.
func misfit(m Instance, points []Point) float64 {
	var sum float64
	for _, p := range points {
		computation, communication := m.Together(p.Cores)
		for _, pair := range [][2]units.Bandwidth{
			{computation, p.Together.Computation},
			{communication, p.Together.Communication},
			{m.Alone(p.Cores), p.Alone.Computation},
			{m.CommunicationAlone, p.Alone.Communication},
		} {
			e := float64(pair[0]/pair[1]) - 1
			sum += e * e
		}
	}
	return sum / float64(4*len(points))
}

// Errors are mean absolute percentage errors of the bandwidths together (section
// IV.B, Table II); NaN without such rows.
type Errors struct {
	// Samples are the placements that the parameters come from, Others the
	// rest, and All both.
	Samples, Others, All struct{ Computation, Communication float64 }
	// Average is the mean of both columns of All.
	Average float64
}

// Evaluate compares the parameters with a sweep. It fails with ErrPlacement if the
// parameters do not cover a placement of the sweep.
func Evaluate(p Parameters, s Sweep) (Errors, error) {
	var sums [2]struct{ computation, communication, n float64 }
	for _, point := range s {
		b, err := p.Together(point.Cores, point.Placement)
		if err != nil {
			return Errors{}, err
		}
		kind := 1
		if at := point.Placement; at.ComputationNode == at.CommunicationNode && (at.ComputationNode == 0 || at.ComputationNode == p.NodesPerSocket) {
			kind = 0
		}
		sums[kind].computation += percentage(b.Computation, point.Together.Computation)
		sums[kind].communication += percentage(b.Communication, point.Together.Communication)
		sums[kind].n++
	}
	var e Errors
	a, b := sums[0], sums[1]
	e.Samples.Computation, e.Samples.Communication = a.computation/a.n, a.communication/a.n
	e.Others.Computation, e.Others.Communication = b.computation/b.n, b.communication/b.n
	e.All.Computation, e.All.Communication = (a.computation+b.computation)/(a.n+b.n), (a.communication+b.communication)/(a.n+b.n)
	e.Average = (e.All.Computation + e.All.Communication) / 2
	return e, nil
}

func percentage(predicted, measured units.Bandwidth) float64 {
	return 100 * math.Abs(float64(predicted-measured)) / float64(measured)
}
