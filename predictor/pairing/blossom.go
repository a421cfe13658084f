package pairing

import (
	"context"
	"math"
	"slices"
)

// matcher finds a perfect matching of the most weight in a complete graph of an
// even number of vertices, by Edmonds's blossom algorithm in its primal-dual form
// with O(n³) steps (J. Edmonds, J. Res. Nat. Bur. Standards 69B, 1965; Z. Galil,
// ACM Computing Surveys 18(1), 1986).
//
// Nodes are numbered from 1; 0 is nobody. Up to vertices they are the graph's
// own, above they are blossoms: odd circles contracted to one node. Every vertex
// has a dual value; an edge is tight when its slack is zero, and matched edges
// are tight. Alternating trees grow from the free vertices along tight edges;
// when none is left, the dual values move until one becomes tight.
type matcher struct {
	vertices int
	nodes    int     // highest node in use
	weight   []int64 // of vertices u and v at [u*(vertices+1)+v]
	dual     []int64
	// nearest[b][x], of a blossom b and a node x that is older, is the edge from a
	// vertex in b to one in x that has the least slack.
	nearest [][]link
	born    []int32 // when a blossom was made, later is higher; 0 for a vertex
	mate    []int32 // the vertex that a node is matched to
	top     []int32 // the outermost blossom that a node lies in; 0 for one not in use
	least   []link  // the edge of least slack from an outer vertex to the node
	parent  []int32 // the vertex from which a tree node was reached
	circle  [][]int32
	// holder[b][v] is the node on the circle of b that holds vertex v, or 0.
	holder [][]int32
	label  []label
	seen   []int32 // by commonAncestor, in which call
	calls  int32   // of commonAncestor
	births int32
	queue  []int32 // outer vertices whose edges are still to be looked at
	slacks []int64 // scratch of findNearest
}

// link is an edge by its end points; from is 0 where there is none.
type link struct{ from, to int32 }

func (e link) reversed() link { return link{e.to, e.from} }

// label is the place of a node in the alternating trees.
type label int8

const (
	free  label = -1
	outer label = 0 // at an even distance from its root
	inner label = 1
)

// newMatcher asks for the weight of every pair of vertices, numbered from 0.
func newMatcher(vertices int, weight func(i, j int) int64) *matcher {
	size := vertices + vertices/2 + 2
	m := &matcher{
		vertices: vertices, nodes: vertices,
		weight: make([]int64, (vertices+1)*(vertices+1)), dual: make([]int64, size),
		nearest: make([][]link, size), born: make([]int32, size), mate: make([]int32, size),
		top: make([]int32, size), least: make([]link, size), parent: make([]int32, size),
		circle: make([][]int32, size), holder: make([][]int32, size), label: make([]label, size),
		seen: make([]int32, size), slacks: make([]int64, size),
	}
	for u := 1; u <= vertices; u++ {
		m.top[u] = int32(u)
		for v := 1; v <= vertices; v++ {
			if u != v {
				m.weight[u*(vertices+1)+v] = 2 * weight(u-1, v-1) // even, so that half a slack is whole
			}
		}
	}
	m.start()
	return m
}

// start gives every vertex the weight of its heaviest edge as dual value, the
// least that leaves no slack below zero, and matches what is tight.
func (m *matcher) start() {
	for u := 1; u <= m.vertices; u++ {
		m.dual[u] = math.MinInt64
		for v := 1; v <= m.vertices; v++ {
			if u != v {
				m.dual[u] = max(m.dual[u], m.weight[u*(m.vertices+1)+v])
			}
		}
	}
	for u := int32(1); u <= int32(m.vertices); u++ {
		for v := u + 1; v <= int32(m.vertices) && m.mate[u] == 0; v++ {
			if m.mate[v] == 0 && m.slackOf(link{u, v}) == 0 {
				m.mate[u], m.mate[v] = v, u
			}
		}
	}
}

// match returns the partner of each vertex, numbered from 0, or the error of ctx when it is
// done first.
func (m *matcher) match(ctx context.Context) ([]int, error) {
	for m.augmentOnce() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	partner := make([]int, m.vertices)
	for v := range partner {
		partner[v] = int(m.mate[v+1]) - 1
	}
	return partner, nil
}

// slackOf returns twice the slack of an edge.
func (m *matcher) slackOf(e link) int64 {
	return m.dual[e.from] + m.dual[e.to] - 2*m.weight[int(e.from)*(m.vertices+1)+int(e.to)]
}

// between returns the edge of least slack from a vertex in a to one in b.
func (m *matcher) between(a, b int32) link {
	switch {
	case m.born[a] > m.born[b]:
		return m.nearest[a][b]
	case m.born[b] > m.born[a]:
		return m.nearest[b][a].reversed()
	default:
		return link{a, b}
	}
}

// offer notes an edge from an outer vertex to a node if it has the least slack.
func (m *matcher) offer(e link, node int32) {
	if m.least[node].from == 0 || m.slackOf(e) < m.slackOf(m.least[node]) {
		m.least[node] = e
	}
}

func (m *matcher) findLeast(node int32) {
	m.least[node] = link{}
	for u := int32(1); u <= int32(m.vertices); u++ {
		if m.top[u] != node && m.label[m.top[u]] == outer {
			m.offer(m.between(u, node), node)
		}
	}
}

// enqueue puts every vertex in a node on the queue of outer vertices.
func (m *matcher) enqueue(node int32) {
	if int(node) <= m.vertices {
		m.queue = append(m.queue, node)
		return
	}
	for _, x := range m.circle[node] {
		m.enqueue(x)
	}
}

func (m *matcher) setTop(node, top int32) {
	m.top[node] = top
	if int(node) > m.vertices {
		for _, x := range m.circle[node] {
			m.setTop(x, top)
		}
	}
}

// evenPath turns the circle of a blossom, if need be, so that the node lies at
// an even distance after the base, and returns that distance.
func (m *matcher) evenPath(blossom, node int32) int {
	circle := m.circle[blossom]
	at := slices.Index(circle, node)
	if at%2 == 1 {
		slices.Reverse(circle[1:])
		return len(circle) - at
	}
	return at
}

// setMate matches node a to node b and alternates inside a.
func (m *matcher) setMate(a, b int32) {
	e := m.between(a, b)
	m.mate[a] = e.to
	if int(a) <= m.vertices {
		return
	}
	entry := m.holder[a][e.from]
	at := m.evenPath(a, entry)
	circle := m.circle[a]
	for i := range at {
		m.setMate(circle[i], circle[i^1])
	}
	m.setMate(entry, b)
	rotated := slices.Concat(circle[at:], circle[:at])
	copy(circle, rotated)
}

// augment flips the path from node u, now matched to v, up to its root.
func (m *matcher) augment(u, v int32) {
	for {
		next := m.top[m.mate[u]]
		m.setMate(u, v)
		if next == 0 {
			return
		}
		up := m.top[m.parent[next]]
		m.setMate(next, up)
		u, v = up, next
	}
}

// commonAncestor returns the node where the paths from u and v to their roots
// meet, or 0 when they lie in two trees.
func (m *matcher) commonAncestor(u, v int32) int32 {
	m.calls++
	for u != 0 || v != 0 {
		if u != 0 {
			if m.seen[u] == m.calls {
				return u
			}
			m.seen[u] = m.calls
			if u = m.top[m.mate[u]]; u != 0 {
				u = m.top[m.parent[u]]
			}
		}
		u, v = v, u
	}
	return 0
}

// contract makes a blossom of the circle from base to u, v and back.
func (m *matcher) contract(u, base, v int32) {
	b := int32(m.vertices + 1)
	for int(b) <= m.nodes && m.top[b] != 0 {
		b++
	}
	m.nodes = max(m.nodes, int(b))
	m.births++
	m.born[b], m.dual[b], m.label[b], m.mate[b] = m.births, 0, outer, m.mate[base]
	circle := append(m.circle[b][:0], base)
	climb := func(x int32) {
		for x != base {
			y := m.top[m.mate[x]]
			circle = append(circle, x, y)
			m.enqueue(y)
			x = m.top[m.parent[y]]
		}
	}
	climb(u)
	slices.Reverse(circle[1:])
	climb(v)
	m.circle[b] = circle
	m.setTop(b, b)
	m.findNearest(b)
	m.findLeast(b)
}

// findNearest gives a new blossom the edges of least slack of the nodes on its
// circle, and notes which of them holds which vertex.
func (m *matcher) findNearest(b int32) {
	if m.nearest[b] == nil {
		m.nearest[b] = make([]link, len(m.dual))
		m.holder[b] = make([]int32, m.vertices+1)
	}
	clear(m.holder[b])
	slacks := m.slacks[:m.nodes+1]
	for x := range slacks {
		slacks[x] = math.MaxInt64
	}
	row := m.nearest[b]
	for _, part := range m.circle[b] {
		if int(part) <= m.vertices {
			m.holder[b][part] = part
			weights, dual := m.weight[int(part)*(m.vertices+1):], m.dual[part]
			for v := 1; v <= m.vertices; v++ {
				if s := dual + m.dual[v] - 2*weights[v]; s < slacks[v] {
					slacks[v], row[v] = s, link{part, int32(v)}
				}
			}
		} else {
			for v := 1; v <= m.vertices; v++ {
				if m.holder[part][v] != 0 {
					m.holder[b][v] = part
				} else if e := m.nearest[part][v]; m.slackOf(e) < slacks[v] {
					slacks[v], row[v] = m.slackOf(e), e
				}
			}
		}
		for x := int32(m.vertices + 1); x <= int32(m.nodes); x++ {
			if m.top[x] == 0 || m.top[x] == b {
				continue
			}
			if e := m.between(part, x); m.slackOf(e) < slacks[x] {
				slacks[x], row[x] = m.slackOf(e), e
			}
		}
	}
}

// expand opens an inner blossom whose dual value came down to zero: the even
// path through its circle stays in the tree, the rest becomes free.
func (m *matcher) expand(b int32) {
	for _, x := range m.circle[b] {
		m.setTop(x, x)
	}
	entry := m.holder[b][m.between(b, m.parent[b]).from]
	at := m.evenPath(b, entry)
	circle := m.circle[b]
	for i := 0; i < at; i += 2 {
		x, next := circle[i], circle[i+1]
		m.parent[x] = m.between(next, x).from
		m.label[x], m.label[next] = inner, outer
		m.least[x] = link{}
		m.findLeast(next)
		m.enqueue(next)
	}
	m.label[entry], m.parent[entry] = inner, m.parent[b]
	for _, x := range circle[at+1:] {
		m.label[x] = free
		m.findLeast(x)
	}
	m.top[b] = 0
}

// follow grows the trees along a tight edge from an outer vertex, and reports
// whether that made the matching larger.
func (m *matcher) follow(e link) bool {
	u, v := m.top[e.from], m.top[e.to]
	switch m.label[v] {
	case inner: // its tree has it already
	case free:
		m.parent[v], m.label[v] = e.from, inner
		next := m.top[m.mate[v]]
		m.least[v], m.least[next] = link{}, link{}
		m.label[next] = outer
		m.enqueue(next)
	case outer:
		base := m.commonAncestor(u, v)
		if base == 0 {
			m.augment(u, v)
			m.augment(v, u)
			return true
		}
		m.contract(u, base, v)
	}
	return false
}

// augmentOnce grows trees from all free vertices until the matching is larger
// by one edge, and reports whether it is.
func (m *matcher) augmentOnce() bool {
	m.queue = m.queue[:0]
	for x := range m.nodes + 1 {
		m.label[x], m.least[x] = free, link{}
	}
	for x := int32(1); x <= int32(m.nodes); x++ {
		if m.top[x] == x && m.mate[x] == 0 {
			m.parent[x], m.label[x] = 0, outer
			m.enqueue(x)
		}
	}
	if len(m.queue) == 0 {
		return false
	}
	for {
		if m.scan() {
			return true
		}
		m.adjustDuals()
		m.queue = m.queue[:0]
		if m.followNewlyTight() {
			return true
		}
		for b := int32(m.vertices + 1); b <= int32(m.nodes); b++ {
			if m.top[b] == b && m.label[b] == inner && m.dual[b] == 0 {
				m.expand(b)
			}
		}
	}
}

// scan looks at the edges of every queued vertex.
func (m *matcher) scan() bool {
	for head := 0; head < len(m.queue); head++ { //nolint:intrange // the queue grows meanwhile
		u := m.queue[head]
		if m.label[m.top[u]] == inner {
			continue
		}
		weights, dual := m.weight[int(u)*(m.vertices+1):], m.dual[u]
		for v := int32(1); v <= int32(m.vertices); v++ {
			if m.top[u] == m.top[v] {
				continue
			}
			if dual+m.dual[v] != 2*weights[v] {
				m.offer(link{u, v}, m.top[v])
			} else if m.follow(link{u, v}) {
				return true
			}
		}
	}
	return false
}

// adjustDuals moves the dual values by the most that keeps every slack, and the
// dual value of every blossom, from going below zero.
func (m *matcher) adjustDuals() {
	step := int64(math.MaxInt64)
	for b := m.vertices + 1; b <= m.nodes; b++ {
		if int(m.top[b]) == b && m.label[b] == inner {
			step = min(step, m.dual[b]/2)
		}
	}
	for x := int32(1); x <= int32(m.nodes); x++ {
		if m.top[x] != x || m.least[x].from == 0 {
			continue
		}
		switch s := m.slackOf(m.least[x]); m.label[x] {
		case inner: // has no slack to lose
		case free:
			step = min(step, s)
		case outer:
			step = min(step, s/2)
		}
	}
	for u := 1; u <= m.vertices; u++ {
		switch m.label[m.top[u]] {
		case free: // untouched
		case outer:
			m.dual[u] -= step
		case inner:
			m.dual[u] += step
		}
	}
	for b := m.vertices + 1; b <= m.nodes; b++ {
		if int(m.top[b]) != b {
			continue
		}
		switch m.label[b] {
		case free: // untouched
		case outer:
			m.dual[b] += 2 * step
		case inner:
			m.dual[b] -= 2 * step
		}
	}
}

func (m *matcher) followNewlyTight() bool {
	for x := int32(1); x <= int32(m.nodes); x++ {
		e := m.least[x]
		if m.top[x] != x || e.from == 0 || m.top[e.from] == x {
			continue
		}
		if m.slackOf(e) == 0 && m.follow(e) {
			return true
		}
	}
	return false
}
