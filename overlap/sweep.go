package overlap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/table"
	"bandmate.dev/bandmate/units"
)

// Point is one measurement of a sweep.
type Point struct {
	Placement
	// Cores is how many cores computed, 1 or more; or parts of cores, of which
	// PartsPerCore make one: 2 or more, and 0 where cores are whole.
	Cores, PartsPerCore int
	// Alone has the bandwidth of each alone, Together those of both.
	Alone, Together Bandwidths
}

// Sweep is measurements with every number of cores from 1, at one or more
// placements.
type Sweep []Point

// sweepColumns are the columns of a sweep in CSV.
var sweepColumns = []string{
	"computationNode", "communicationNode", "cores",
	"computationAloneBytesPerSecond", "communicationAloneBytesPerSecond",
	"computationBytesPerSecond", "communicationBytesPerSecond",
}

// Bounds of a sweep: more than any machine has.
const (
	maxRows  = 1 << 20
	maxNodes = 1 << 16
	maxCores = 1 << 16
	maxParts = 1 << 10
)

// ReadSweep reads CSV with a header that names, in any order, computationNode,
// communicationNode, cores, computationAloneBytesPerSecond,
// communicationAloneBytesPerSecond, computationBytesPerSecond and
// communicationBytesPerSecond; the last two are measured together. partsPerCore may
// be missing, and other columns are ignored. Bandwidths must be above zero: a point that was not measured has no
// row. Faults have their file:line:column.
func ReadSweep(r io.Reader, file string) (Sweep, error) {
	var sweep Sweep
	err := table.Each(r, file, sweepColumns, func(t *table.Table) {
		if len(sweep) == maxRows {
			t.Fail("cores", fmt.Errorf("more than %d rows", maxRows))
		}
		sweep = append(sweep, readPoint(t))
	})
	if err != nil {
		return nil, err
	}
	if err := sweep.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return sweep, nil
}

func readPoint(t *table.Table) Point {
	p := Point{Cores: t.Whole("cores", 1, maxCores)}
	p.ComputationNode, p.CommunicationNode = t.Whole("computationNode", 0, maxNodes), t.Whole("communicationNode", 0, maxNodes)
	if t.Given("partsPerCore") {
		if parts := t.Whole("partsPerCore", 1, maxParts); parts > 1 {
			p.PartsPerCore = parts
		}
	}
	for i, into := range []*units.Bandwidth{&p.Alone.Computation, &p.Alone.Communication, &p.Together.Computation, &p.Together.Communication} {
		*into = units.Bandwidth(t.Positive(sweepColumns[3+i]))
	}
	return p
}

// Validate reports values that are out of range, and missing or repeated numbers of
// cores.
func (s Sweep) Validate() error {
	if len(s) == 0 {
		return errors.New("the sweep has no rows: want one for each number of cores")
	}
	const most = 20
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	seen := make(map[Placement]map[int]bool)
	for i, p := range s {
		if len(faults) >= most {
			fault("and perhaps more")
			break
		}
		if p.ComputationNode < 0 || p.CommunicationNode < 0 || p.Cores < 1 {
			fault("row %d: nodes %d and %d, %d cores: want nodes from 0 and cores from 1", i+1, p.ComputationNode, p.CommunicationNode, p.Cores)
			continue
		}
		for j, b := range []units.Bandwidth{p.Alone.Computation, p.Alone.Communication, p.Together.Computation, p.Together.Communication} {
			if !(b > 0) || math.IsInf(float64(b), 0) {
				fault("row %d: %s of %v: want a finite bandwidth above 0; leave out what was not measured", i+1, sweepColumns[3+j], float64(b))
			}
		}
		if p.PartsPerCore != s[0].PartsPerCore {
			fault("row %d: %d parts per core, and %d in row 1: want the same in all rows", i+1, max(1, p.PartsPerCore), max(1, s[0].PartsPerCore))
		}
		if seen[p.Placement] == nil {
			seen[p.Placement] = make(map[int]bool)
		}
		if seen[p.Placement][p.Cores] {
			fault("row %d: %d cores at computation node %d, communication node %d occur twice", i+1, p.Cores, p.ComputationNode, p.CommunicationNode)
		}
		seen[p.Placement][p.Cores] = true
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for _, p := range s {
		cores := seen[p.Placement]
		for n := 1; n < p.Cores && len(faults) < most; n++ {
			if !cores[n] {
				fault("%d cores at computation node %d, communication node %d are missing: a sweep has every number from 1", n, p.ComputationNode, p.CommunicationNode)
				cores[n] = true
			}
		}
	}
	return errors.Join(faults...)
}

// at returns the points of a placement in the order of their cores.
func (s Sweep) at(p Placement) []Point {
	var points []Point
	for _, point := range s {
		if point.Placement == p {
			points = append(points, point)
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return a.Cores - b.Cores })
	return points
}
