package pausing

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/procstat"
	"bandmate.dev/bandmate/internal/sysfile"
)

// sight is what was seen of a process.
type sight int

const (
	sawRunning sight = iota
	// sawBlocked: some threads wait in the kernel for a device, or for a child of
	// vfork, and nothing else runs. They stop before they run again.
	sawBlocked
	sawStopped
	sawEnded
)

// blockedGrace is how long threads that are blocked may take to stop. After that
// they count as stopped, for some stay blocked for long.
const blockedGrace = time.Millisecond

// look returns the state of the process. Threads seen stopped are not checked again.
func (m *member) look() (sight, error) {
	st, err := readStat(m.pid)
	if errors.Is(err, ErrEnded) || err == nil && (st.Start != m.start || st.AllEnded()) {
		return sawEnded, nil
	}
	if err != nil {
		return sawRunning, err
	}
	first := sightOf(st)
	if first == sawRunning || st.Threads <= 1 {
		return first, nil
	}
	return m.lookAtThreads()
}

func (m *member) lookAtThreads() (sight, error) {
	dir := procPath(m.pid, "task")
	if m.moving == nil {
		threads := threadsOf(m.pid)
		if threads == nil {
			return sawEnded, nil
		}
		m.moving = threads
	}
	var blocked []int
	for i, thread := range m.moving {
		st, err := readStatFile(fmt.Sprintf("%s/%d/stat", dir, thread))
		switch {
		case errors.Is(err, ErrEnded):
		case err != nil:
			return sawRunning, err
		case sightOf(st) == sawRunning:
			m.moving = slices.Concat(blocked, m.moving[i:])
			return sawRunning, nil
		case sightOf(st) == sawBlocked:
			blocked = append(blocked, thread)
		}
	}
	if m.moving = blocked; len(blocked) > 0 {
		return sawBlocked, nil
	}
	m.moving = []int{}
	return sawStopped, nil
}

// hasStopped reports whether a thread is stopped by a signal, as then all are to be. One that a
// debugger stops for a moment says nothing of the others.
func (m *member) hasStopped() bool {
	return slices.ContainsFunc(threadsOf(m.pid), func(thread int) bool {
		st, err := readStatFile(fmt.Sprintf("%s/%d/stat", procPath(m.pid, "task"), thread))
		return err == nil && st.State == 'T'
	})
}

// stopThreads asks the threads that run, where others are blocked. The kernel leaves a signal to
// a process to one of its threads: where that one is blocked, the others run on until it has
// woken (complete_signal in kernel/signal.c). It does nothing once the watchdog has continued the
// process.
func (m *member) stopThreads(p *page) {
	var awake []int
	isBlocked := false
	for _, thread := range threadsOf(m.pid) {
		switch st, err := readStatFile(fmt.Sprintf("%s/%d/stat", procPath(m.pid, "task"), thread)); {
		case err != nil: // it has ended
		case sightOf(st) == sawRunning:
			awake = append(awake, thread)
		case sightOf(st) == sawBlocked:
			isBlocked = true
		}
	}
	if !isBlocked || len(awake) == 0 {
		return
	}
	state := &p.slots[m.slot].state
	if !p.turn(state, paused, pausing) {
		return
	}
	for _, thread := range awake {
		m.asked = true
		_ = unix.Tgkill(m.pid, thread, unix.SIGSTOP) // one that has ended does not run
	}
	p.enter(state, paused)
}

// threadsOf lists the threads of a process; none when it has ended.
func threadsOf(pid int) []int {
	threads, err := sysfile.Numbers(os.DirFS(procPath(pid, "task")), ".")
	if err != nil {
		return nil
	}
	return threads
}

// sightOf returns the state of a thread; one that has ended counts as stopped.
func sightOf(st procstat.Stat) sight {
	switch st.State {
	case 'T', 't', 'Z', 'X':
		return sawStopped
	case 'D':
		return sawBlocked
	}
	return sawRunning
}

// threadsAfter is how often a member that was asked to stop is looked at before its threads are
// asked one by one, and again: a millisecond or so.
const threadsAfter = 40

// await returns when a member that was asked to stop does not run. It is patient
// with blocked threads for a while.
func (s *signals) await(m *member, deadline, grace time.Duration) error {
	blockedSince := time.Duration(-1)
	for tries := 0; !m.ended && !m.stopped; tries++ {
		seen, err := m.look()
		if err != nil {
			return err
		}
		switch seen {
		case sawEnded:
			m.ended = true
			return nil
		case sawStopped:
			m.stopped = true
			return nil
		case sawBlocked:
			if blockedSince < 0 {
				blockedSince = now()
			}
			if now()-blockedSince >= grace {
				return nil
			}
		case sawRunning:
			blockedSince = -1
			if tries%threadsAfter == threadsAfter-1 {
				m.stopThreads(s.dog.page)
			}
		}
		if now() >= deadline {
			return fmt.Errorf("process %d did not stop in time: %w", m.pid, ErrTooLong)
		}
		rest(tries)
	}
	return nil
}

// rest lets others run: it is they that have to stop.
func rest(tries int) {
	if tries < 10 {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		return
	}
	time.Sleep(20 * time.Microsecond)
}
