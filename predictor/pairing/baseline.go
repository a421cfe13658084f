package pairing

import (
	"cmp"
	"context"
	"slices"
)

// Greedy repeatedly pairs the two remaining jobs of least total slowdown, pairs over the
// limit last. It is a baseline for Optimal.
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

// AverageRandom returns the expected total slowdown of a pairing chosen uniformly at
// random: each pair of places occurs with probability 1 ÷ (places − 1).
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

// Comparison is the optimal pairing with its baselines.
type Comparison struct {
	Optimal, Greedy Pairing
	// Random is the mean total slowdown of all pairings.
	Random float64
}

// Compare solves p by every method. It fails as Optimal does.
func Compare(ctx context.Context, p Problem) (c Comparison, err error) {
	if c.Optimal, err = Optimal(ctx, p); err != nil {
		return c, err
	}
	if c.Greedy, err = Greedy(p); err != nil {
		return c, err
	}
	c.Random, err = AverageRandom(p)
	return c, err
}
