package measure

import "bandmate.dev/bandmate/network"

// Schemes returns conflicts that determine every parameter of the fit: those of
// Figure 2 of the paper, which give beta and put communications into two conflicts
// at once, that of Figure 4, which gives the gammas, and several communications
// that arrive together.
func Schemes() []Scheme {
	return []Scheme{
		{"two leave", arcs(0, 1, 0, 2)},
		{"three leave", arcs(0, 1, 0, 2, 0, 3)},
		{"four leave", arcs(0, 1, 0, 2, 0, 3, 0, 4)},
		{"two arrive", arcs(0, 2, 1, 2)},
		{"three arrive", arcs(0, 3, 1, 3, 2, 3)},
		{"three leave, one joins", arcs(0, 1, 0, 2, 0, 3, 4, 3)},
		{"one arrives at who sends", arcs(0, 1, 2, 0)},
		{"figure 4", arcs(0, 1, 0, 2, 0, 3, 4, 2, 4, 3, 5, 3)},
	}
}

// arcs makes communications a, b and so on of pairs of nodes.
func arcs(nodes ...int) []network.Communication {
	var conflict []network.Communication
	for i := 0; i+1 < len(nodes); i += 2 {
		conflict = append(conflict, network.Communication{Name: string(rune('a' + i/2)), From: nodes[i], To: nodes[i+1]})
	}
	return conflict
}
