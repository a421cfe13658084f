package network

import (
	"errors"
	"fmt"
)

// Model predicts how communications share network cards.
type Model interface {
	// Name returns the name of the model on the command line.
	Name() string
	// Penalties returns the penalty of each communication of a conflict in which
	// all send at once, in their order. Penalties are 1 or more, except with some
	// fitted parameters. It fails on a conflict that does not Validate, and with
	// ErrUnsupported on one that the model does not cover.
	Penalties(conflict []Communication) ([]float64, error)
}

// ErrUnsupported is returned for a conflict that a model does not cover.
var ErrUnsupported = errors.New("the model does not cover this conflict")

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

// Components divides a conflict into parts that share no card and so do not affect
// each other, as lists of indices in ascending order. The sending and the receiving
// side of a node are separate, as links are full duplex.
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
