package network

import (
	"math/bits"
	"slices"
)

// Myrinet is the paper's model of Myrinet 2000 (section V.B), whose flow control
// stops a sender while the way is taken. It has no parameters. A communication
// sends in some of the maximal sets of communications that can send together. The
// communications of one node share its card fairly, so all are as slow as the
// slowest.
type Myrinet struct{}

// Limits of the enumeration, which grows exponentially in the worst case: the
// communications that fit a machine word, and the sets that take some seconds.
const (
	maxTogether = 64
	maxSets     = 20_000_000
)

// Name returns "myrinet".
func (Myrinet) Name() string { return NameMyrinet }

// Penalties returns the penalties of a conflict. It enumerates parts that share no
// card separately: the number of sets of the others cancels out. It fails
// with ErrUnsupported when a part has more than 64 communications or more than
// 20 million sets.
func (Myrinet) Penalties(conflict []Communication) ([]float64, error) {
	if err := Validate(conflict); err != nil {
		return nil, err
	}
	penalties := make([]float64, len(conflict))
	for _, part := range Components(conflict) {
		members := make([]Communication, len(part))
		for i, at := range part {
			members[i] = conflict[at]
		}
		sets, sending, err := SendSets(members)
		if err != nil {
			return nil, err
		}
		slowest := make(map[int]int)
		for i, c := range members {
			if n, ok := slowest[c.From]; !ok || sending[i] < n {
				slowest[c.From] = sending[i]
			}
		}
		for i, c := range members {
			penalties[part[i]] = float64(sets) / float64(slowest[c.From])
		}
	}
	return penalties, nil
}

// SendSets enumerates the maximal sets of communications that can send together,
// no two from the same node nor to the same node. It returns the number of sets,
// and the number in which each communication sends: the paper's emission
// coefficient, at least 1.
func SendSets(conflict []Communication) (sets int, sending []int, err error) {
	if err := Validate(conflict); err != nil {
		return 0, nil, err
	}
	if len(conflict) > maxTogether {
		return 0, nil, unsupported(NameMyrinet, "%d communications share cards; at most %d can be enumerated", len(conflict), maxTogether)
	}
	e := enumeration{free: make([]uint64, len(conflict)), sending: make([]int, len(conflict))}
	all := ^uint64(0) >> (maxTogether - len(conflict))
	for i, a := range conflict {
		for j, b := range conflict {
			if i != j && a.From != b.From && a.To != b.To {
				e.free[i] |= 1 << j
			}
		}
	}
	e.extend(all, 0)
	if e.sets > maxSets {
		return 0, nil, unsupported(NameMyrinet, "%d communications that share cards have more than %d sets that can send together", len(conflict), maxSets)
	}
	return e.sets, e.sending, nil
}

// enumeration is the algorithm of Bron and Kerbosch with a pivot ("Finding all
// cliques of an undirected graph", 1973) on the graph of communications that can
// send together.
type enumeration struct {
	// free holds, for each communication, those that can send beside it.
	free    []uint64
	chosen  []int
	sets    int
	sending []int
}

// extend completes the chosen set by candidates in every way; those seen were
// completed before.
func (e *enumeration) extend(candidates, seen uint64) {
	if e.sets > maxSets {
		return
	}
	if candidates == 0 {
		if seen == 0 {
			e.sets++
			for _, i := range e.chosen {
				e.sending[i]++
			}
		}
		return
	}
	pivot, most := 0, -1
	for rest := candidates | seen; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if n := bits.OnesCount64(candidates & e.free[i]); n > most {
			pivot, most = i, n
		}
	}
	for rest := candidates &^ e.free[pivot]; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		e.chosen = append(e.chosen, i)
		e.extend(candidates&e.free[i], seen&e.free[i])
		e.chosen = slices.Delete(e.chosen, len(e.chosen)-1, len(e.chosen))
		candidates &^= 1 << i
		seen |= 1 << i
	}
}
