package collective

import (
	"sync"

	"bandmate.dev/bandmate/capability"
)

// Barrier holds threads, numbered from 0, until all have come.
type Barrier interface {
	// Wait returns once every thread has called it as often as this one.
	Wait(thread int)
}

// Dissemination is the barrier of equation 2: in every round each thread tells
// some others and hears from as many.
type Dissemination struct {
	patience patience
	rounds   int
	threads  []*disseminating
}

// disseminating is what one thread knows.
type disseminating struct {
	calls uint64
	// tells and hears are the flags of each round. Each flag has one writer and
	// one reader.
	tells, hears [][]*flag
	_            [spread]byte
}

// NewDissemination makes the barrier that capability.NewBarrier lays out.
func NewDissemination(b capability.Barrier) (*Dissemination, error) {
	if err := checkThreads(b.Threads); err != nil {
		return nil, err
	}
	d := &Dissemination{patience: patienceOf(b.Threads), rounds: b.Rounds, threads: newEach[disseminating](b.Threads)}
	for _, t := range d.threads {
		t.tells, t.hears = make([][]*flag, b.Rounds), make([][]*flag, b.Rounds)
	}
	for thread, t := range d.threads {
		for round := range b.Rounds {
			for _, to := range b.Signals(thread, round) {
				f := new(flag)
				t.tells[round] = append(t.tells[round], f)
				d.threads[to].hears[round] = append(d.threads[to].hears[round], f)
			}
		}
	}
	return d, nil
}

// Wait implements Barrier.
func (d *Dissemination) Wait(thread int) {
	t := d.threads[thread]
	t.calls++
	for round := range d.rounds {
		for _, f := range t.tells[round] {
			f.count.Store(t.calls)
		}
		for _, f := range t.hears[round] {
			d.patience.await(&f.count, t.calls)
		}
	}
}

// Central is the flat barrier: all count in one line, and wait for the last one
// to open another.
type Central struct {
	patience patience
	threads  uint64
	_        [spread]byte
	arrived  flag
	opened   flag
	calls    []*flag
}

// NewCentral makes a flat barrier.
func NewCentral(threads int) (*Central, error) {
	if err := checkThreads(threads); err != nil {
		return nil, err
	}
	return &Central{patience: patienceOf(threads), threads: uint64(threads), calls: newEach[flag](threads)}, nil
}

// Wait implements Barrier.
func (c *Central) Wait(thread int) {
	call := c.calls[thread].count.Add(1)
	if c.arrived.count.Add(1) == call*c.threads {
		c.opened.count.Store(call)
		return
	}
	c.patience.await(&c.opened.count, call)
}

// TreeBarrier gathers along a tree and lets go along it.
type TreeBarrier struct {
	patience patience
	calls    []*flag
	places   []place
	// came is written by each thread when all below it have come, gone when they
	// may go.
	came, gone []*flag
}

// NewTreeBarrier makes a barrier along a tree of any shape.
func NewTreeBarrier(t capability.Tree) (*TreeBarrier, error) {
	places, err := placesOf(t)
	if err != nil {
		return nil, err
	}
	n := len(places)
	return &TreeBarrier{patience: patienceOf(n), calls: newEach[flag](n), places: places, came: newEach[flag](n), gone: newEach[flag](n)}, nil
}

// Wait implements Barrier.
func (b *TreeBarrier) Wait(thread int) {
	call, at := b.calls[thread].count.Add(1), b.places[thread]
	for _, child := range at.children {
		b.patience.await(&b.came[child].count, call)
	}
	if at.parent >= 0 {
		b.came[thread].count.Store(call)
		b.patience.await(&b.gone[at.parent].count, call)
	}
	if len(at.children) > 0 {
		b.gone[thread].count.Store(call)
	}
}

// Cond is a barrier of a mutex and a condition variable, where waiting threads
// sleep: what package sync offers.
type Cond struct {
	threads int
	mutex   sync.Mutex
	changed *sync.Cond
	arrived int
	opened  uint64
}

// NewCond makes such a barrier.
func NewCond(threads int) (*Cond, error) {
	if err := checkThreads(threads); err != nil {
		return nil, err
	}
	c := &Cond{threads: threads}
	c.changed = sync.NewCond(&c.mutex)
	return c, nil
}

// Wait implements Barrier. It does not matter which thread calls.
func (c *Cond) Wait(int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	mine := c.opened
	if c.arrived++; c.arrived == c.threads {
		c.arrived = 0
		c.opened++
		c.changed.Broadcast()
		return
	}
	for c.opened == mine {
		c.changed.Wait()
	}
}
