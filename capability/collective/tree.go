package collective

import (
	"fmt"

	"bandmate.dev/bandmate/capability"
)

// place is where a thread stands in a tree; the parent of the root is -1.
type place struct {
	parent   int
	children []int
}

// placesOf lays a tree of tiles out over threads: the first thread of a tile
// stands below the first one of the tile above, the others of the tile below it.
func placesOf(t capability.Tree) ([]place, error) {
	if err := checkThreads(t.Threads); err != nil {
		return nil, err
	}
	places := make([]place, t.Threads)
	for i := range places {
		places[i].parent = -1
	}
	placed := 0
	var visit func(n *capability.Node, parent int) error
	hang := func(thread, parent int) error {
		if thread < 0 || thread >= t.Threads || places[thread].parent >= 0 || thread == 0 && placed > 0 {
			return fmt.Errorf("tree of %d threads: thread %d: want each of 0 to %d once, 0 at the root", t.Threads, thread, t.Threads-1)
		}
		placed++
		places[thread].parent = parent
		if parent >= 0 {
			places[parent].children = append(places[parent].children, thread)
		}
		return nil
	}
	visit = func(n *capability.Node, parent int) error {
		if n == nil || len(n.Threads) == 0 {
			return fmt.Errorf("tree of %d threads: a tile without threads", t.Threads)
		}
		first := n.Threads[0]
		if err := hang(first, parent); err != nil {
			return err
		}
		// Other tiles are farther, so they come first.
		for _, child := range n.Children {
			if err := visit(child, first); err != nil {
				return err
			}
		}
		for _, thread := range n.Threads[1:] {
			if err := hang(thread, first); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(t.Root, -1); err != nil {
		return nil, err
	}
	if placed != t.Threads || places[0].parent >= 0 {
		return nil, fmt.Errorf("tree of %d threads: it holds %d, want all, 0 at the root", t.Threads, placed)
	}
	return places, nil
}

// Broadcast hands a line from thread 0 to all others.
type Broadcast interface {
	// Do returns, in every thread, the line that thread 0 gave to its call of
	// the same number; what others give is not looked at.
	Do(thread int, line Line) Line
}

// Reduce adds up the lines of all threads, word by word.
type Reduce interface {
	// Do returns the sum in thread 0, and nothing of meaning in the others.
	Do(thread int, line Line) Line
}

// TreeBroadcast is the broadcast of equation 1: a parent writes line and flag,
// its children read them, hand them on, and acknowledge.
type TreeBroadcast struct {
	patience patience
	places   []place
	calls    []*flag
	down     []*slot
	acked    []*flag
}

// NewTreeBroadcast makes a broadcast along a tree of any shape.
func NewTreeBroadcast(t capability.Tree) (*TreeBroadcast, error) {
	places, err := placesOf(t)
	if err != nil {
		return nil, err
	}
	n := len(places)
	return &TreeBroadcast{patience: patienceOf(n), places: places, calls: newEach[flag](n), down: newEach[slot](n), acked: newEach[flag](n)}, nil
}

// Do implements Broadcast.
func (b *TreeBroadcast) Do(thread int, line Line) Line {
	call, at := b.calls[thread].count.Add(1), b.places[thread]
	if at.parent >= 0 {
		from := b.down[at.parent]
		b.patience.await(&from.count, call)
		line = from.line
		b.acked[thread].count.Store(call)
	}
	if len(at.children) == 0 {
		return line
	}
	to := b.down[thread]
	to.line = line
	to.count.Store(call)
	for _, child := range at.children {
		b.patience.await(&b.acked[child].count, call)
	}
	return line
}

// TreeReduce is the reduction of equation 1: children write line and flag, and
// the parent combines them, writes that it has, and hands the sum up.
type TreeReduce struct {
	patience patience
	places   []place
	calls    []*flag
	up       []*slot
	taken    []*flag
}

// NewTreeReduce makes a reduction along a tree of any shape.
func NewTreeReduce(t capability.Tree) (*TreeReduce, error) {
	places, err := placesOf(t)
	if err != nil {
		return nil, err
	}
	n := len(places)
	return &TreeReduce{patience: patienceOf(n), places: places, calls: newEach[flag](n), up: newEach[slot](n), taken: newEach[flag](n)}, nil
}

// Do implements Reduce.
func (r *TreeReduce) Do(thread int, line Line) Line {
	call, at := r.calls[thread].count.Add(1), r.places[thread]
	for _, child := range at.children {
		from := r.up[child]
		r.patience.await(&from.count, call)
		line.add(&from.line)
	}
	if len(at.children) > 0 {
		r.taken[thread].count.Store(call)
	}
	if at.parent >= 0 {
		to := r.up[thread]
		to.line = line
		to.count.Store(call)
		r.patience.await(&r.taken[at.parent].count, call)
	}
	return line
}

func (l *Line) add(other *Line) {
	for i := range l {
		l[i] += other[i]
	}
}
