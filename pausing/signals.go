package pausing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// signals pauses processes by SIGSTOP. A parent is stopped before its children and
// continued after them: a shell or sudo that saw its child stopped would act on it.
type signals struct {
	dog    *watchdog
	roster roster
	// members are sorted by depth.
	members []*member
	byPID   map[int]*member
	free    []uint32 // slots
}

// newSignals returns the brake of processes and of everything that a roster finds.
func newSignals(dog *watchdog, r roster, roots ...int) (*signals, error) {
	s := &signals{dog: dog, roster: r, byPID: make(map[int]*member)}
	for _, pid := range roots {
		if s.isMember(pid) {
			continue
		}
		switch m, err := s.join(pid, true); {
		case err != nil:
			return nil, errors.Join(err, s.close())
		case m == nil:
			return nil, errors.Join(fmt.Errorf("process %d: %w; list them with: ps -e", pid, ErrEnded), s.close())
		}
	}
	if _, err := s.joinNew(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if len(s.members) == 0 {
		return nil, errors.Join(fmt.Errorf("%s: %w", r, ErrEnded), s.close())
	}
	return s, nil
}

func (s *signals) isMember(pid int) bool { return s.byPID[pid] != nil }

// joinNew adds the processes that are not members yet.
func (s *signals) joinNew() ([]*member, error) {
	found, err := s.roster.find(s.isMember)
	if err != nil {
		return nil, err
	}
	var joined []*member
	for _, pid := range found {
		m, err := s.join(pid, false)
		if err != nil {
			return nil, err
		}
		if m != nil {
			joined = append(joined, m)
		}
	}
	slices.SortStableFunc(s.members, byDepth)
	slices.SortStableFunc(joined, byDepth)
	return joined, nil
}

func byDepth(a, b *member) int { return cmp.Compare(a.depth, b.depth) }

// join makes a process a member; nil when it has ended.
func (s *signals) join(pid int, root bool) (*member, error) {
	id, err := openIdentity(pid)
	if err != nil {
		return nil, ignoreEnded(err)
	}
	m := &member{identity: id}
	ok, err := s.admit(m, root)
	if err != nil || !ok {
		id.close()
		return nil, ignoreEnded(err)
	}
	s.members = append(s.members, m)
	s.byPID[pid] = m
	return m, nil
}

// admit checks a process, locks it and gives it a slot. It reports false for a
// process that has ended.
func (s *signals) admit(m *member, root bool) (bool, error) {
	st, err := readStat(m.pid)
	if err != nil {
		return false, err
	}
	if st.AllEnded() {
		return false, nil
	}
	if err := refuse(m.pid, st, root); err != nil {
		return false, err
	}
	if err := m.signal(0); err != nil {
		return false, err
	}
	m.start = st.Start
	if parent := s.byPID[st.Parent]; parent != nil {
		m.depth = parent.depth + 1
	}
	used := &s.dog.page.header.used
	switch {
	case len(s.free) > 0:
		m.slot = s.free[len(s.free)-1]
	case used.Load() < maxSlots:
		m.slot = used.Load()
	default:
		return false, fmt.Errorf("%s has more than %d processes: %w", s.roster, maxSlots, ErrRefused)
	}
	if err := lock(s.dog.locks, m.pid); err != nil {
		return false, err
	}
	if len(s.free) > 0 {
		s.free = s.free[:len(s.free)-1]
	} else {
		used.Add(1)
	}
	sl := &s.dog.page.slots[m.slot]
	sl.pid.Store(uint64(m.pid))
	sl.start.Store(m.start)
	return true, nil
}

// drop ends the membership of processes that have ended.
func (s *signals) drop() {
	s.members = slices.DeleteFunc(s.members, func(m *member) bool {
		if m.ended {
			s.part(m)
		}
		return m.ended
	})
}

func (s *signals) part(m *member) {
	s.dog.page.slots[m.slot].state.Store(running)
	s.free = append(s.free, m.slot)
	unlock(s.dog.locks, m.pid)
	m.close()
	delete(s.byPID, m.pid)
}

func (s *signals) close() error {
	for _, m := range s.members {
		s.part(m)
	}
	s.members = nil
	return nil
}

func (s *signals) pause(deadline time.Duration) error {
	for fresh := s.members; len(fresh) > 0; {
		if err := s.stop(fresh, deadline); err != nil {
			return err
		}
		// Members that are stopped start nothing, so this comes to an end.
		joined, err := s.joinNew()
		if err != nil {
			return err
		}
		fresh = joined
	}
	s.roster.settle()
	s.drop()
	if len(s.members) == 0 {
		return fmt.Errorf("%s: %w", s.roster, ErrEnded)
	}
	return nil
}

// stop stops members, those of one depth after another, and returns when none runs.
func (s *signals) stop(members []*member, deadline time.Duration) error {
	for rest := members; len(rest) > 0; {
		depth := rest[0].depth
		n := 1
		for n < len(rest) && rest[n].depth == depth {
			n++
		}
		for _, m := range rest[:n] {
			if err := s.ask(m); err != nil {
				return err
			}
		}
		for _, m := range rest[:n] {
			if err := s.await(m, deadline, 0); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	for _, m := range members {
		if err := s.await(m, deadline, blockedGrace); err != nil {
			return err
		}
	}
	return nil
}

// ask sends the signal to a member, unless it is stopped already.
func (s *signals) ask(m *member) error {
	m.moving, m.stopped, m.asked = nil, false, false
	switch seen, err := m.look(); {
	case err != nil:
		return err
	case seen == sawEnded:
		m.ended = true
		return nil
	case seen == sawStopped:
		m.stopped = true // stopped by others, who will continue it
		return nil
	case seen == sawBlocked && (m.hasStopped() || stopIsPending(m.pid, false)):
		m.stopped = true // by others, too: what is blocked stops before it runs
		return nil
	}
	m.moving = nil
	state := &s.dog.page.slots[m.slot].state
	s.dog.page.enter(state, pausing)
	err := m.signal(unix.SIGSTOP)
	if err != nil {
		state.Store(running)
		m.ended = errors.Is(err, ErrEnded)
		return ignoreEnded(err)
	}
	// The watchdog leaves pausing as it is.
	s.dog.page.enter(state, paused)
	return nil
}

func (s *signals) resume() error {
	var errs []error
	tooLong := false
	for _, m := range slices.Backward(s.members) {
		state := &s.dog.page.slots[m.slot].state
		if old := state.Load() & stateMask; old != running && old != released {
			// Before the process has stopped the pending signal may be ours.
			if !m.stopped || !stopIsPending(m.pid, m.asked) {
				errs = append(errs, ignoreEnded(m.signal(unix.SIGCONT)))
			}
		}
		// Only now: before, the watchdog has to do it if this process is killed.
		tooLong = s.dog.leave(state) || tooLong
	}
	s.drop()
	if tooLong {
		errs = append(errs, fmt.Errorf("%s: %w: the watchdog continued it", s.roster, ErrTooLong))
	}
	return errors.Join(errs...)
}

// member is a process of the group.
type member struct {
	identity
	start uint64
	depth int
	slot  uint32
	// moving are the threads that were not seen stopped since the last signal;
	// nil before they were listed.
	moving []int
	// asked is true when single threads were asked, too: then the signal to the process may be
	// pending when all have stopped.
	asked bool
	// stopped is true when every thread was seen stopped.
	stopped bool
	ended   bool
}
