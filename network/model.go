package network

import (
	"errors"
	"fmt"
)

// Model predicts how communications share network cards.
type Model interface {
	// Name is the model's, as the command line takes it.
	Name() string
	// Penalties returns the penalty of each communication of a conflict in
	// which all send at once, in their order, 1 and above but for the fitted
	// parameters. It fails on a conflict that does not Validate, and with
	// ErrUnsupported on one that the model says nothing about.
	Penalties(conflict []Communication) ([]float64, error)
}

// ErrUnsupported is returned for a conflict that a model says nothing about.
var ErrUnsupported = errors.New("the model says nothing about this conflict")

// Names of the models.
const (
	NameGigabitEthernet = "gigabit-ethernet"
	NameMyrinet         = "myrinet"
	NameInfiniband      = "infiniband"
)

// ModelNames returns the names of all models.
func ModelNames() []string {
	return []string{NameGigabitEthernet, NameMyrinet, NameInfiniband}
}

// degrees count the communications that leave and that reach each node.
func degrees(conflict []Communication) (out, in map[int]int) {
	out, in = make(map[int]int), make(map[int]int)
	for _, c := range conflict {
		out[c.From]++
		in[c.To]++
	}
	return out, in
}

// Components divides a conflict into the parts that share no node's card, as
// lists of indices in ascending order: what one part does, the others do not
// feel. A node's sending and its receiving side are apart, as links are full
// duplex.
func Components(conflict []Communication) [][]int {
	parent := make([]int, len(conflict))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	from, to := make(map[int]int), make(map[int]int)
	join := func(seen map[int]int, node, i int) {
		first, ok := seen[node]
		if !ok {
			seen[node] = i
			return
		}
		a, b := root(first), root(i)
		parent[max(a, b)] = min(a, b)
	}
	for i, c := range conflict {
		join(from, c.From, i)
		join(to, c.To, i)
	}
	place := make(map[int]int)
	var parts [][]int
	for i := range conflict {
		r := root(i)
		at, ok := place[r]
		if !ok {
			at = len(parts)
			place[r] = at
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], i)
	}
	return parts
}

func unsupported(model, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", model, fmt.Sprintf(format, args...), ErrUnsupported)
}
