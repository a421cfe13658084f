package capability

import "fmt"

// Operation is the purpose of a tree.
type Operation string

// The operations.
const (
	// Broadcast hands a line from the root to all threads.
	Broadcast Operation = "broadcast"
	// Reduce combines the lines of all threads at the root.
	Reduce Operation = "reduce"
)

// Shape is a family of trees.
type Shape string

// The shapes.
const (
	// Optimal is the cheapest of all trees by equation 1.
	Optimal Shape = "optimal"
	// Flat has all others below the root.
	Flat Shape = "flat"
	// Binary has two subtrees below every node, of nearly equal size.
	Binary Shape = "binary"
	// Binomial gives each child half of the remaining nodes.
	Binomial Shape = "binomial"
)

// Shapes lists them, the optimal one first.
func Shapes() []Shape { return []Shape{Optimal, Flat, Binary, Binomial} }

// Node is a tile of a tree, or a core where cores form no tiles.
type Node struct {
	// Threads are numbered from 0, the root of the tree; the first one of a
	// node talks to other nodes, and the others, in a flat tree, to it.
	Threads  []int
	Children []*Node
}

// Tree is the order in which threads pass a line to each other.
type Tree struct {
	Operation Operation
	Shape     Shape
	Threads   int
	Root      *Node
	// Cost is modeled: the tree between tiles by equation 1, and then the flat
	// tree within the fullest tile.
	Cost Cost
}

// level returns T_lev of equation 1, the cost of a node with k children. The
// parent writes data and flag (R_I + R_L), the children read them at once
// (T_C(k)), acknowledge, and the parent reads each acknowledgement
// (R_I + k·R_R):
//
//	T_lev(k) = R_I + R_L + T_C(k) + R_I + k·R_R
//
// In a reduction, the paper says, the data of the children goes through buffers and
// is combined, but not what that costs. Here each child adds a line read from the
// own cache: k·R_L.
func (p Parameters) level(op Operation, k int) Cost {
	if k == 0 {
		return 0
	}
	cost := p.Memory + p.Local + p.Contention.At(k) + p.Memory + Cost(k)*p.Remote
	if op == Reduce {
		cost += Cost(k) * p.Local
	}
	return cost
}

// within returns the cost of the flat tree in a tile of n threads. The paper
// prints no formula. This is T_lev with the tile's latency for the remote one, and
// one read after the other for contention, which the paper measures only between
// tiles.
func (p Parameters) within(op Operation, n int) Cost {
	k := n - 1
	if k == 0 {
		return 0
	}
	near := p
	near.Remote, near.Contention = p.Tile, &Line{Each: p.Tile}
	return near.level(op, k)
}

// NewTree lays out a tree for threads 0 to n − 1, one a core, tiles filled one
// after the other, and gives its modeled cost. Without a known contention the
// error wraps ErrNotCovered.
func NewTree(p Parameters, op Operation, threads int, shape Shape) (Tree, error) {
	if err := p.Validate(); err != nil {
		return Tree{}, err
	}
	if err := checkThreads(threads); err != nil {
		return Tree{}, err
	}
	if p.Contention == nil {
		return Tree{}, fmt.Errorf("contention of threads that read one line: %w", ErrNotCovered)
	}
	if op != Broadcast && op != Reduce {
		return Tree{}, fmt.Errorf("operation %q: want %s or %s", op, Broadcast, Reduce)
	}
	tiles := (threads + p.CoresPerTile - 1) / p.CoresPerTile
	split, err := p.splitter(op, shape, tiles)
	if err != nil {
		return Tree{}, err
	}
	b := builder{split: split, threads: threads, perTile: p.CoresPerTile}
	t := Tree{Operation: op, Shape: shape, Threads: threads, Root: b.node(tiles)}
	t.Cost = p.costOf(op, t.Root) + p.within(op, min(threads, p.CoresPerTile))
	return t, nil
}

// costOf returns the cost between tiles, by equation 1.
func (p Parameters) costOf(op Operation, n *Node) Cost {
	var longest Cost
	for _, child := range n.Children {
		longest = max(longest, p.costOf(op, child))
	}
	return p.level(op, len(n.Children)) + longest
}

// splitter returns how a tree of n nodes divides the others into subtrees,
// given by their sizes.
func (p Parameters) splitter(op Operation, shape Shape, nodes int) (func(n int) []int, error) {
	switch shape {
	case Optimal:
		degrees := p.degrees(op, nodes)
		return func(n int) []int { return even(n-1, degrees[n]) }, nil
	case Flat:
		return func(n int) []int { return even(n-1, n-1) }, nil
	case Binary:
		return func(n int) []int { return even(n-1, min(2, n-1)) }, nil
	case Binomial:
		return halves, nil
	}
	return nil, fmt.Errorf("shape %q: want one of %v", shape, Shapes())
}

// degrees returns, for every size of a tree up to nodes, how many children its
// root has in the cheapest one.
//
// The subtrees start at the same time, so the largest decides. The lowest cost T
// grows with the size, because removing a leaf never raises it, so equal subtrees
// are best: T(n) = min over k of T_lev(k) + T(⌈(n − 1)/k⌉). This is exact, not a
// heuristic. Of equal costs, fewer children win.
func (p Parameters) degrees(op Operation, nodes int) []int {
	costs, degrees := make([]Cost, nodes+1), make([]int, nodes+1)
	for n := 2; n <= nodes; n++ {
		for k := 1; k < n; k++ {
			cost := p.level(op, k) + costs[(n-1+k-1)/k]
			if k == 1 || cost < costs[n] {
				costs[n], degrees[n] = cost, k
			}
		}
	}
	return degrees
}

// even divides n into k parts that differ by at most one, larger ones first.
func even(n, k int) []int {
	parts := make([]int, k)
	for i := range parts {
		parts[i] = (n + k - 1 - i) / k
	}
	return parts
}

// halves gives half of the remaining nodes to each child.
func halves(n int) []int {
	var parts []int
	for n > 1 {
		parts = append(parts, n/2)
		n -= n / 2
	}
	return parts
}

// builder numbers threads in the order in which it lays out nodes.
type builder struct {
	split            func(n int) []int
	threads, perTile int
	next             int
}

func (b *builder) node(size int) *Node {
	n := &Node{}
	for len(n.Threads) < b.perTile && b.next < b.threads {
		n.Threads = append(n.Threads, b.next)
		b.next++
	}
	for _, part := range b.split(size) {
		n.Children = append(n.Children, b.node(part))
	}
	return n
}

// Depth returns the number of levels between the root and the farthest node.
func (n *Node) Depth() int {
	if len(n.Children) == 0 {
		return 0
	}
	deepest := 0
	for _, child := range n.Children {
		deepest = max(deepest, child.Depth())
	}
	return 1 + deepest
}
