package pairing

import (
	"cmp"
	"slices"
)

// Greedy pairs the two jobs that add least, then the two of the rest that do,
// and so on; the last of an odd number stays alone. Pairs over the limit come
// last. It is what one would do by hand, to compare Optimal with.
func Greedy(p Problem) (Pairing, error) {
	t, err := newTable(p)
	if err != nil {
		return Pairing{}, err
	}
	type pair struct {
		i, j int32
		over bool
		cost float64
	}
	pairs := make([]pair, 0, t.jobs*(t.jobs-1)/2)
	for i := range t.jobs {
		for j := i + 1; j < t.jobs; j++ {
			pairs = append(pairs, pair{int32(i), int32(j), t.overLimit(i, j), t.cost(i, j)})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if a.over != b.over {
			if a.over {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	partner := make([]int, t.jobs)
	for i := range partner {
		partner[i] = Alone
	}
	for _, e := range pairs {
		if partner[e.i] == Alone && partner[e.j] == Alone {
			partner[e.i], partner[e.j] = int(e.j), int(e.i)
		}
	}
	for i := range partner {
		if partner[i] == Alone {
			partner[i] = t.jobs
		}
	}
	return t.pairing(partner), nil
}

// AverageRandom returns the expected total slowdown when jobs are paired at
// random, every pairing as likely as any other: each pair of places then occurs
// with a probability of 1 ÷ (places − 1), so that no pairing has to be drawn.
func AverageRandom(p Problem) (total float64, err error) {
	t, err := newTable(p)
	if err != nil {
		return 0, err
	}
	for i := range t.places {
		for j := i + 1; j < t.places; j++ {
			total += t.cost(i, j)
		}
	}
	return total / float64(t.places-1), nil
}
