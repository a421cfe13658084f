package collective

// LockedBroadcast hands a line over between two barriers of package sync.
type LockedBroadcast struct {
	barrier *Cond
	line    Line
}

// NewLockedBroadcast makes such a broadcast.
func NewLockedBroadcast(threads int) (*LockedBroadcast, error) {
	barrier, err := NewCond(threads)
	return &LockedBroadcast{barrier: barrier}, err
}

// Do implements Broadcast.
func (b *LockedBroadcast) Do(thread int, line Line) Line {
	if thread == 0 {
		b.line = line
	}
	b.barrier.Wait(thread)
	line = b.line
	b.barrier.Wait(thread) // before the next line is written
	return line
}

// LockedReduce adds up below a mutex, and waits with package sync.
type LockedReduce struct {
	barrier *Cond
	sum     Line
}

// NewLockedReduce makes such a reduction.
func NewLockedReduce(threads int) (*LockedReduce, error) {
	barrier, err := NewCond(threads)
	return &LockedReduce{barrier: barrier}, err
}

// Do implements Reduce.
func (r *LockedReduce) Do(thread int, line Line) Line {
	r.barrier.mutex.Lock()
	r.sum.add(&line)
	r.barrier.mutex.Unlock()
	r.barrier.Wait(thread)
	if thread == 0 {
		line, r.sum = r.sum, Line{}
	}
	r.barrier.Wait(thread) // before the next sum begins
	return line
}
