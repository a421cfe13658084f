package cache

import "math/rand/v2"

// replacement is how a simulated cache chooses the line that it replaces.
type replacement interface {
	// use notes a use of a way of a set; fill is one that brought the line in.
	use(set, way int, fill bool)
	// victim returns the way that is replaced next.
	victim(set int) int
}

// leastRecent replaces the line that was used first.
type leastRecent struct {
	now  int
	used [][]int
}

func (p *leastRecent) use(set, way int, _ bool) {
	p.now++
	p.used[set][way] = p.now
}

func (p *leastRecent) victim(set int) int {
	oldest := 0
	for way, used := range p.used[set] {
		if used < p.used[set][oldest] {
			oldest = way
		}
	}
	return oldest
}

// tree is a tree of bits, each of which points away from the half that was used last.
type tree struct{ right [][]bool }

func (p tree) use(set, way int, _ bool) {
	bits := p.right[set]
	node := 1
	for half := len(bits) / 2; half > 0; half /= 2 {
		right := way&half != 0
		bits[node] = !right
		node *= 2
		if right {
			node++
		}
	}
}

func (p tree) victim(set int) (way int) {
	bits := p.right[set]
	node := 1
	for half := len(bits) / 2; half > 0; half /= 2 {
		right := bits[node]
		node *= 2
		if right {
			node++
			way |= half
		}
	}
	return way
}

// notRecent replaces any line but those used since all others were.
type notRecent struct {
	random *rand.Rand
	recent [][]bool
}

func (p notRecent) use(set, way int, _ bool) {
	recent := p.recent[set]
	recent[way] = true
	for _, r := range recent {
		if !r {
			return
		}
	}
	clear(recent)
	recent[way] = true
}

func (p notRecent) victim(set int) int {
	way := p.random.IntN(len(p.recent[set]))
	for p.recent[set][way] {
		way = (way + 1) % len(p.recent[set])
	}
	return way
}

// anyone replaces any line.
type anyone struct {
	random *rand.Rand
	ways   int
}

func (anyone) use(_, _ int, _ bool) {}
func (p anyone) victim(int) int     { return p.random.IntN(p.ways) }

// reReference is static RRIP of two bits.
type reReference struct{ distance [][]int }

func (p reReference) use(set, way int, fill bool) {
	p.distance[set][way] = 0
	if fill {
		p.distance[set][way] = 2
	}
}

func (p reReference) victim(set int) int {
	for {
		for way, d := range p.distance[set] {
			if d >= 3 {
				return way
			}
		}
		for way := range p.distance[set] {
			p.distance[set][way]++
		}
	}
}

func ofEach[T any](sets, ways int) [][]T {
	all := make([][]T, sets)
	for i := range all {
		all[i] = make([]T, ways)
	}
	return all
}
