package network

import (
	"errors"
	"fmt"
)

// GigabitEthernet is the paper's model of TCP over Gigabit Ethernet (section
// V.A). The penalty of a communication is the larger of those of its two ends, by
// the communications that leave with it and by those that arrive with it.
type GigabitEthernet struct {
	// Beta is the penalty of k communications from one node to k different ones,
	// divided by k: above 0, at most 1 where links are full duplex. It is 0.75 in
	// the paper, because several communications use a card better than one.
	Beta float64
	// GammaOut and GammaIn measure how unevenly leaving and arriving communications
	// share the card, because some are in a second conflict at their other end: 0
	// or more, below 1.
	GammaOut, GammaIn float64
}

// PaperGigabitEthernet are the parameters of the paper's cluster: BCM 5704
// cards, MPICH (section V.A, Figure 4).
func PaperGigabitEthernet() GigabitEthernet {
	return GigabitEthernet{Beta: 0.75, GammaOut: 0.115, GammaIn: 0.036}
}

// Name returns "gigabit-ethernet".
func (GigabitEthernet) Name() string { return NameGigabitEthernet }

// Validate reports every parameter that is out of range.
func (m GigabitEthernet) Validate() error {
	var faults []error
	if !(m.Beta > 0 && m.Beta <= 1) {
		faults = append(faults, fmt.Errorf("beta of %v: want a number above 0, at most 1", m.Beta))
	}
	if !(m.GammaOut >= 0 && m.GammaOut < 1) {
		faults = append(faults, fmt.Errorf("gamma-out of %v: want a number from 0, below 1", m.GammaOut))
	}
	if !(m.GammaIn >= 0 && m.GammaIn < 1) {
		faults = append(faults, fmt.Errorf("gamma-in of %v: want a number from 0, below 1", m.GammaIn))
	}
	return errors.Join(faults...)
}

// Penalties returns the penalties of a conflict: max(p_o, p_i) of section V.A.
// A beta below one half yields penalties below 1, as the formula has it.
//
// The paper prints γ·(Δ − card C^m) in the first case of p_o and p_i. Only the
// quotient γ/(Δ − card C^m) yields the times of its own Figure 4, all six of
// them, so that is what is computed here. The second case of p_i names C_o^m
// where the text defines the sets symmetrically; C_i^m is used.
func (m GigabitEthernet) Penalties(conflict []Communication) ([]float64, error) {
	if err := errors.Join(m.Validate(), Validate(conflict)); err != nil {
		return nil, err
	}
	out, in := degrees(conflict)
	leaving, arriving := make(map[int]*Port), make(map[int]*Port)
	for _, c := range conflict {
		portOf(leaving, c.From).Add(in[c.To])
		portOf(arriving, c.To).Add(out[c.From])
	}
	penalties := make([]float64, len(conflict))
	for i, c := range conflict {
		penalties[i] = m.Penalty(out[c.From], in[c.To], *leaving[c.From], *arriving[c.To])
	}
	return penalties, nil
}

// Penalty returns the penalty of one communication: out of them leave its source
// and in arrive at its destination, itself included, by the ports leaving and
// arriving. It is what Penalties computes, for callers that keep the ports of a
// changing conflict.
func (m GigabitEthernet) Penalty(out, in int, leaving, arriving Port) float64 {
	return max(
		m.side(out, m.GammaOut, in == leaving.highest, leaving.members),
		m.side(in, m.GammaIn, out == arriving.highest, arriving.members))
}

// side is p_o or p_i: degree communications at this end, members of them in
// the set of the slowest.
func (m GigabitEthernet) side(degree int, gamma float64, slowest bool, members int) float64 {
	share := 1.0
	switch {
	case degree == 1:
		return 1
	case slowest && degree > members:
		share += gamma / float64(degree-members)
	case !slowest:
		share -= gamma / float64(members)
	}
	return float64(degree) * m.Beta * share
}

// Port summarizes the communications that use one side of one card. The zero value
// has none.
type Port struct {
	// highest is the highest degree that any of them has at its other end, and
	// members the number of those that have it: the set C^m of Definition 1.
	highest, members int
}

// Add counts a communication with this degree at its other end.
func (c *Port) Add(degree int) {
	switch {
	case degree > c.highest:
		*c = Port{degree, 1}
	case degree == c.highest:
		c.members++
	}
}

func portOf(ports map[int]*Port, node int) *Port {
	c, ok := ports[node]
	if !ok {
		c = new(Port)
		ports[node] = c
	}
	return c
}
