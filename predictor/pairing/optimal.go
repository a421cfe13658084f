package pairing

import (
	"context"
	"math"
	"math/bits"
)

// exactByTable is the most places that dynamic programming over subsets serves;
// 2^16 subsets take a few milliseconds.
const exactByTable = 16

// Optimal returns the pairing with the fewest pairs over the limit, and of those
// the one with the least total slowdown. It is exact for every number of jobs,
// to a rounding of each cost by at most 10⁻⁹ (more above some 4,000 jobs, see
// weights). Its time grows as the cube of the number of jobs, its memory as the
// square. When ctx is done, it ends with its error.
func Optimal(ctx context.Context, p Problem) (Pairing, error) {
	t, err := newTable(p)
	if err != nil {
		return Pairing{}, err
	}
	w := newWeights(t)
	if t.places <= exactByTable {
		return t.pairing(w.bySubsets()), nil
	}
	partner, err := w.byBlossoms(ctx)
	if err != nil {
		return Pairing{}, err
	}
	return t.pairing(partner), nil
}

// weights are the costs of a problem as whole numbers: exact arithmetic makes
// the matching end, and end at the optimum.
type weights struct {
	places int
	cost   []int64 // of i with j at [i*places+j], 0 or more
	most   int64
}

// largest bounds the sum of all costs of a pairing, which no dual value of
// byBlossoms exceeds in size, with room for its sums of four of them.
const largest = 1 << 59

// finest is the resolution of a cost where the numbers allow it.
const finest = 1e9

// newWeights scales costs to whole numbers. A pair over the limit costs more
// than all slowdowns together can, so that no saving makes up for it.
func newWeights(t *table) *weights {
	var most float64
	for i := range t.places {
		for j := i + 1; j < t.places; j++ {
			most = max(most, t.cost(i, j))
		}
	}
	pairs := float64(t.places / 2)
	penalty := 0.0
	if t.limit != 0 {
		penalty = most*pairs + 1
	}
	scale := finest
	for (most+penalty)*(pairs+1)*scale > largest {
		scale /= 10
	}
	w := &weights{places: t.places, cost: make([]int64, t.places*t.places)}
	for i := range t.places {
		for j := i + 1; j < t.places; j++ {
			c := t.cost(i, j)
			if t.overLimit(i, j) {
				c += penalty
			}
			rounded := int64(math.Round(c * scale))
			w.cost[i*t.places+j], w.cost[j*t.places+i] = rounded, rounded
			w.most = max(w.most, rounded)
		}
	}
	return w
}

// bySubsets finds the cheapest perfect pairing by dynamic programming: the best
// for a set of places is the best choice of a partner for its lowest place.
func (w *weights) bySubsets() []int {
	best := make([]int64, 1<<w.places)
	choice := make([]int8, 1<<w.places)
	for set := 1; set < len(best); set++ {
		best[set] = math.MaxInt64
		if bits.OnesCount(uint(set))%2 == 1 {
			continue
		}
		low := bits.TrailingZeros(uint(set))
		for rest := set &^ (1 << low); rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros(uint(rest))
			if c := best[set&^(1<<low)&^(1<<j)] + w.cost[low*w.places+j]; c < best[set] {
				best[set], choice[set] = c, int8(j)
			}
		}
	}
	partner := make([]int, w.places)
	for set := len(best) - 1; set != 0; {
		i := bits.TrailingZeros(uint(set))
		j := int(choice[set])
		partner[i], partner[j] = j, i
		set &^= 1<<i | 1<<j
	}
	return partner
}

// byBlossoms finds the cheapest perfect pairing as the perfect matching of the
// most savings.
func (w *weights) byBlossoms(ctx context.Context) ([]int, error) {
	return newMatcher(w.places, func(i, j int) int64 { return w.most - w.cost[i*w.places+j] }).match(ctx)
}
