package memory

// line is a quantity by read share: nodes in order of share, at least one.
type line []node

// node is a quantity at a read share.
type node struct{ share, value float64 }

// bracket returns the nodes around a share and how far it lies from the lower to
// the upper one, 0 to 1. Beyond the nodes both are the nearest one.
func (l line) bracket(share float64) (low, high node, part float64) {
	last := len(l) - 1
	switch {
	case !(share > l[0].share):
		return l[0], l[0], 0
	case share >= l[last].share:
		return l[last], l[last], 0
	}
	i := 0
	for l[i+1].share <= share {
		i++
	}
	return l[i], l[i+1], (share - l[i].share) / (l[i+1].share - l[i].share)
}

// at returns the quantity at a share, by linear interpolation.
func (l line) at(share float64) float64 {
	low, high, part := l.bracket(share)
	return low.value + part*(high.value-low.value)
}
