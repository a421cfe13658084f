package collective

import "bandmate.dev/bandmate/capability"

// place is where a thread stands in a tree; the parent of the root is -1.
type place struct {
	parent   int
	children []int
}

// placesOf lays a tree of tiles out over threads: the first thread of a tile
// stands below the first one of the tile above, the others of the tile below it.
func placesOf(t capability.Tree) []place {
	places := make([]place, t.Threads)
	add := func(thread, parent int) {
		places[thread].parent = parent
		if parent >= 0 {
			places[parent].children = append(places[parent].children, thread)
		}
	}
	var visit func(n *capability.Node, parent int)
	visit = func(n *capability.Node, parent int) {
		first := n.Threads[0]
		add(first, parent)
		// Other tiles are farther, so they come first.
		for _, child := range n.Children {
			visit(child, first)
		}
		for _, thread := range n.Threads[1:] {
			add(thread, first)
		}
	}
	visit(t.Root, -1)
	return places
}

// tree does one operation along a tree of any shape.
type tree struct {
	patience patience
	places   []place
	calls    []*flag
	// lines are handed to the children, or to the parent. acks answer them: that
	// a child has read the line, or that a parent has combined it.
	lines []*slot
	acks  []*flag
}

func newTree(t capability.Tree) *tree {
	n := t.Threads
	return &tree{patience: patienceOf(n), places: placesOf(t), calls: newEach[flag](n), lines: newEach[slot](n), acks: newEach[flag](n)}
}

// wait is a barrier: it gathers along the tree and releases along it.
func (t *tree) wait(thread int) {
	call, at := t.calls[thread].count.Add(1), t.places[thread]
	for _, child := range at.children {
		t.patience.await(&t.lines[child].count, call)
	}
	if at.parent >= 0 {
		t.lines[thread].count.Store(call)
		t.patience.await(&t.acks[at.parent].count, call)
	}
	if len(at.children) > 0 {
		t.acks[thread].count.Store(call)
	}
}

// broadcast is that of equation 1: a parent writes line and flag, its children
// read them, hand them on, and acknowledge. It returns thread 0's line.
func (t *tree) broadcast(thread int, l line) line {
	call, at := t.calls[thread].count.Add(1), t.places[thread]
	if at.parent >= 0 {
		from := t.lines[at.parent]
		t.patience.await(&from.count, call)
		l = from.line
		t.acks[thread].count.Store(call)
	}
	if len(at.children) == 0 {
		return l
	}
	to := t.lines[thread]
	to.line = l
	to.count.Store(call)
	for _, child := range at.children {
		t.patience.await(&t.acks[child].count, call)
	}
	return l
}

// reduce is that of equation 1: children write line and flag, and the parent adds
// them, acknowledges, and hands the sum up. It returns the sum in thread 0.
func (t *tree) reduce(thread int, l line) line {
	call, at := t.calls[thread].count.Add(1), t.places[thread]
	for _, child := range at.children {
		from := t.lines[child]
		t.patience.await(&from.count, call)
		l.add(&from.line)
	}
	if len(at.children) > 0 {
		t.acks[thread].count.Store(call)
	}
	if at.parent >= 0 {
		to := t.lines[thread]
		to.line = l
		to.count.Store(call)
		t.patience.await(&t.acks[at.parent].count, call)
	}
	return l
}

func (l *line) add(other *line) {
	for i := range l {
		l[i] += other[i]
	}
}
