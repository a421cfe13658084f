package collective

import "bandmate.dev/bandmate/capability"

// dissemination is the barrier of equation 2: in every round each thread tells
// some others and hears from as many.
type dissemination struct {
	patience patience
	rounds   int
	threads  []*disseminating
}

// disseminating is the state of one thread.
type disseminating struct {
	calls uint64
	// tells and hears are the flags of each round. Each flag has one writer and
	// one reader.
	tells, hears [][]*flag
	_            [spread]byte
}

// newDissemination makes the barrier that capability.NewBarrier lays out.
func newDissemination(b capability.Barrier) *dissemination {
	d := &dissemination{patience: patienceOf(b.Threads), rounds: b.Rounds, threads: newEach[disseminating](b.Threads)}
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
	return d
}

func (d *dissemination) wait(thread int) {
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

// central is the flat barrier: all threads count in one line, and wait for the
// last one to open another.
type central struct {
	patience patience
	threads  uint64
	_        [spread]byte
	arrived  flag
	opened   flag
	calls    []*flag
}

func newCentral(threads int) *central {
	return &central{patience: patienceOf(threads), threads: uint64(threads), calls: newEach[flag](threads)}
}

func (c *central) wait(thread int) {
	call := c.calls[thread].count.Add(1)
	if c.arrived.count.Add(1) == call*c.threads {
		c.opened.count.Store(call)
		return
	}
	c.patience.await(&c.opened.count, call)
}
