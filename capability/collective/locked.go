package collective

import "sync"

// locked does the operations with a mutex and a condition variable of package
// sync, where waiting threads sleep.
type locked struct {
	threads int
	mutex   sync.Mutex
	changed *sync.Cond
	arrived int
	opened  uint64
	line    line
}

func newLocked(threads int) *locked {
	l := &locked{threads: threads}
	l.changed = sync.NewCond(&l.mutex)
	return l
}

// wait is a barrier. It does not matter which thread calls.
func (l *locked) wait(int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	mine := l.opened
	if l.arrived++; l.arrived == l.threads {
		l.arrived = 0
		l.opened++
		l.changed.Broadcast()
		return
	}
	for l.opened == mine {
		l.changed.Wait()
	}
}

// broadcast returns thread 0's line.
func (l *locked) broadcast(thread int, given line) line {
	if thread == 0 {
		l.line = given
	}
	l.wait(thread)
	given = l.line
	l.wait(thread) // before the next line is written
	return given
}

// reduce returns the sum in thread 0.
func (l *locked) reduce(thread int, given line) line {
	l.mutex.Lock()
	l.line.add(&given)
	l.mutex.Unlock()
	l.wait(thread)
	if thread == 0 {
		given, l.line = l.line, line{}
	}
	l.wait(thread) // before the next sum begins
	return given
}
