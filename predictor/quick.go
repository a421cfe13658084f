package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// Quick predicts pairs of many applications in nanoseconds each, for matrices
// too large for Default. It keeps of every application
//
//   - its mean traffic (no phases, no communication),
//   - its performance at two read shares, 50% and 100%, against what others
//     transfer, at evenly spaced points, so that reading is one multiplication,
//     joined by eq. 3 of the paper,
//
// and instead of iterating to the settled state it takes the middle of two
// bounds of it: the performance beside an undisturbed neighbor (too low), and
// beside a neighbor slowed down as though the application were undisturbed (too
// high). Beyond the measured pressure the curve is held. What is missing in a
// profile counts as nothing, as in Workspace.
//
// It is immutable and safe for concurrent use.
type Quick struct {
	apps []quickApplication
}

// quickCells is how many even steps a curve is divided into. With four levels
// up to 100% each of them falls on a step.
const quickCells = 32

// quickShares are the read shares of the two columns of a table.
var quickShares = [2]units.ReadShare{0.5, 1}

type quickApplication struct {
	traffic float32 // total, bytes per second
	scale   float32 // of its read share between quickShares (eq. 3)
	perByte float32 // cells per byte per second of traffic
	table   [quickCells + 1][2]float32
}

// NewQuick prepares applications; none is refused.
func NewQuick(apps []*Application) *Quick {
	q := &Quick{apps: make([]quickApplication, len(apps))}
	for i, a := range apps {
		q.apps[i] = newQuickApplication(a)
	}
	return q
}

func newQuickApplication(a *Application) quickApplication {
	q := quickApplication{traffic: float32(a.corunner.Total())}
	if share, known := a.corunner.ReadShare(); known {
		scale := (share - quickShares[0]) / (quickShares[1] - quickShares[0])
		q.scale = float32(min(max(scale, 0), 1))
	}
	var highest units.Bandwidth
	for i := range a.responses {
		steps := a.responses[i].steps
		highest = max(highest, steps[len(steps)-1].actual)
	}
	for column, share := range quickShares {
		var bracket curves.Bracket
		if a.family != nil {
			bracket = a.family.Bracket(share)
		}
		for cell := range q.table {
			q.table[cell][column] = 1
			if a.family != nil {
				b := highest * units.Bandwidth(cell) / quickCells
				lower, _ := a.responses[bracket.Lower].at(b)
				upper, _ := a.responses[bracket.Upper].at(b)
				q.table[cell][column] = float32(bracket.Mix(lower, upper))
			}
		}
	}
	if highest > 0 {
		q.perByte = float32(quickCells / highest)
	}
	return q
}

// at reads the table beside traffic of the given total and scale.
func (q *quickApplication) at(traffic, scale float32) float32 {
	x := traffic * q.perByte
	cell := int(x)
	if cell >= quickCells {
		last := &q.table[quickCells]
		return last[0] + scale*(last[1]-last[0])
	}
	low, high := &q.table[cell], &q.table[cell+1]
	part := x - float32(cell)
	lower := low[0] + part*(high[0]-low[0])
	upper := low[1] + part*(high[1]-low[1])
	return lower + scale*(upper-lower)
}

// Len returns the number of applications.
func (q *Quick) Len() int { return len(q.apps) }

// Row appends to dst the normalized performance of application i beside each
// application in turn, a second instance of itself included.
func (q *Quick) Row(dst []units.NormalizedPerformance, i int) []units.NormalizedPerformance {
	own := &q.apps[i]
	for j := range q.apps {
		other := &q.apps[j]
		low := own.at(other.traffic, other.scale)
		slowed := other.at(own.traffic, own.scale)
		high := own.at(other.traffic*slowed, other.scale)
		dst = append(dst, units.NormalizedPerformance((low+high)/2))
	}
	return dst
}
