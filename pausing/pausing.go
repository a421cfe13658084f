// Package pausing pauses running programs for some milliseconds and continues
// them. Whatever happens to the process that pauses, nothing stays paused: a
// watchdog, a process of its own, continues everything when the pausing process
// ends or when a pause lasts too long.
//
// Programs are paused by SIGSTOP and SIGCONT, or by the freezer of their cgroup.
// Processes that were already stopped stay stopped.
package pausing

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Longest is how long a pause may last unless [Group.SetLongest] says otherwise.
const Longest = 100 * time.Millisecond

// Errors that callers distinguish.
var (
	// ErrEnded is wrapped when nothing is left that could be paused.
	ErrEnded = errors.New("no such process")
	// ErrRefused is wrapped when something must not be paused.
	ErrRefused = errors.New("cannot be paused")
	// ErrBusy is wrapped when something is held by another group, of this process
	// or of another.
	ErrBusy = errors.New("is paused by another bandmate")
	// ErrTooLong is wrapped when the watchdog ended a pause, or would have.
	ErrTooLong = errors.New("the pause lasted too long")
)

// Group is a set of processes that are paused and continued together. Its
// methods may be called concurrently.
type Group struct {
	mu      sync.Mutex
	brake   brake
	dog     *watchdog
	longest time.Duration
	// deadline of the pause.
	deadline time.Duration
	paused   bool
	closed   bool
}

// brake is a way to pause.
type brake interface {
	// pause returns when everything is paused. After an error some things may be.
	pause(deadline time.Duration) error
	// resume continues what pause paused, and is called after any pause. The error
	// wraps ErrTooLong when the watchdog had continued something before.
	resume() error
	close() error
}

// Processes returns a group of processes with all their descendants; those that
// are started later belong to it, too. A descendant whose parent had ended before
// it was seen is missed, unless it is in a session that a process of the group leads or
// led.
//
// The error wraps [ErrEnded], [ErrRefused], [ErrBusy], or [os.ErrPermission] when
// the processes belong to another user. Close the group.
func Processes(pids ...int) (*Group, error) {
	if len(pids) == 0 {
		return nil, fmt.Errorf("no processes given: %w", ErrEnded)
	}
	return open(nil, func(dog *watchdog) (brake, error) { return newSignals(dog, treeOf(pids), pids...) })
}

// open starts a watchdog, which is handed a freezer unless that is nil.
func open(f *freezer, build func(*watchdog) (brake, error)) (*Group, error) {
	dog, err := startWatchdog(f)
	if err != nil {
		return nil, err
	}
	b, err := build(dog)
	if err != nil {
		return nil, errors.Join(err, dog.close())
	}
	return &Group{brake: b, dog: dog, longest: Longest}, nil
}

// SetLongest sets how long later pauses may last. After that the watchdog ends
// them, within some tens of milliseconds.
func (g *Group) SetLongest(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longest = d
}

// Watchdog returns the process that continues what this one leaves paused. It is a
// child of this process, which must neither end it nor wait for it.
func (g *Group) Watchdog() int { return g.dog.pid }

// Pause pauses everything in the group and returns when nothing of it runs. A
// thread that waits for a device counts as paused: it stops before it runs again.
// After an error nothing is paused.
func (g *Group) Pause() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errors.New("pause: the group is closed")
	case g.paused:
		return errors.New("pause: the group is paused already")
	}
	deadline := now() + g.longest
	g.deadline = deadline
	if err := g.dog.arm(deadline); err != nil {
		return err
	}
	err := g.brake.pause(deadline)
	if err == nil && now() >= deadline {
		err = fmt.Errorf("pausing took more than %v: %w", g.longest, ErrTooLong)
	}
	if err != nil {
		resumed := g.brake.resume()
		g.dog.disarm()
		return errors.Join(err, resumed)
	}
	g.paused = true
	return nil
}

// Continue lets everything in the group run that Pause paused. It does nothing
// when nothing is paused. An error that wraps [ErrTooLong] says that some of it
// may have run before.
func (g *Group) Continue() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resume()
}

func (g *Group) resume() error {
	if !g.paused {
		return nil
	}
	g.paused = false
	late := now() >= g.deadline
	err := g.brake.resume()
	g.dog.disarm()
	if late && !errors.Is(err, ErrTooLong) {
		err = errors.Join(err, fmt.Errorf("paused for more than %v: %w", g.longest, ErrTooLong))
	}
	return err
}

// Close continues everything and ends the watchdog. It may be called again.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return errors.Join(g.resume(), g.brake.close(), g.dog.close())
}
