package network

import (
	"cmp"
	"slices"
)

// Infiniband has the penalties that the paper measured on InfiniHost III (Figure 2)
// for a few conflicts. Every part of a conflict that shares no card with the rest
// must have one of their shapes: up to three communications from one node to
// different ones, or three and a fourth that arrives where one of them does.
type Infiniband struct{}

// Name returns "infiniband".
func (Infiniband) Name() string { return NameInfiniband }

// measured holds the penalties by shape, sizes of the messages 20 MB (Figure 2,
// column Infiniband).
var measured = struct {
	outgoing [4]float64
	// fourth is the one that arrives beside one of three.
	fourth float64
}{outgoing: [4]float64{1: 1, 2: 1.725, 3: 2.61}, fourth: 1.14}

// Penalties returns the measured penalties, or ErrUnsupported for a conflict of
// another shape.
func (m Infiniband) Penalties(conflict []Communication) ([]float64, error) {
	if err := Validate(conflict); err != nil {
		return nil, err
	}
	penalties := make([]float64, len(conflict))
	for _, part := range Components(conflict) {
		if err := m.part(conflict, part, penalties); err != nil {
			return nil, err
		}
	}
	return penalties, nil
}

func (m Infiniband) part(conflict []Communication, part []int, penalties []float64) error {
	members := make([]Communication, len(part))
	for i, at := range part {
		members[i] = conflict[at]
	}
	out, in := degrees(members)
	busiest := slices.MaxFunc(members, func(a, b Communication) int { return cmp.Compare(out[a.From], out[b.From]) }).From
	most := 0
	for _, n := range in {
		most = max(most, n)
	}
	k := out[busiest]
	switch {
	case len(members) == k && most == 1 && k <= 3:
	case len(members) == 4 && k == 3 && most == 2 && len(in) == k:
	default:
		return unsupported(m.Name(), "%d communications around node %d; measured are up to three that leave one node for different ones, and a fourth that arrives beside one of them",
			len(members), busiest)
	}
	for i, c := range members {
		penalties[part[i]] = measured.outgoing[k]
		if c.From != busiest {
			penalties[part[i]] = measured.fourth
		}
	}
	return nil
}
