package pausing

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/reexec"
)

// watchdogRole makes a process a watchdog; its argument says what it can thaw.
const watchdogRole reexec.Role = "watchdog"

// Files of the watchdog.
const (
	pageFile    = 3
	freezerFile = 4
	lockFile    = 5
)

const (
	// look is how often the watchdog looks at the page while pauses are made.
	look = 20 * time.Millisecond
	// restAfter is how long it looks without seeing a pause.
	restAfter = time.Second
	// startLimit bounds the start of the watchdog on a machine that is very busy.
	startLimit = 2 * time.Minute
)

// watchdog is a process that continues what is paused when this process ends or
// a deadline passes. It shares a page with this process, so that a pause costs no
// message, and holds the locks as long as it has something to do.
type watchdog struct {
	pid  int
	page *page
	// lifeline is a pipe that closes when this process ends. A byte in it wakes
	// the watchdog.
	lifeline *os.File
	locks    *os.File
	ended    chan struct{}
	gone     atomic.Bool
}

// WatchdogName is the name under which a watchdog runs, its first argument.
const WatchdogName = "bandmate-" + string(watchdogRole)

// RunIfWatchdog has to be among the first statements of main, and of TestMain, in
// every program that calls [Processes] or [Cgroup]. In a process that they made it
// is the watchdog and does not return; in every other process it does nothing.
func RunIfWatchdog() {
	watchdogRole.Run(func(thawing string) int {
		if err := watch(thawing); err != nil {
			fmt.Fprintln(os.Stderr, "bandmate: watchdog of pauses:", err)
			return 1
		}
		return 0
	})
}

// startWatchdog returns when the watchdog watches.
func startWatchdog(f *freezer) (*watchdog, error) {
	if watchdogRole.Taken() {
		return nil, errors.New("started from a watchdog: main has to call pausing.RunIfWatchdog first")
	}
	locks, err := openLocks()
	if err != nil {
		return nil, err
	}
	p, file, err := newPage()
	if err != nil {
		locks.Close()
		return nil, err
	}
	defer file.Close()
	d := &watchdog{page: p, locks: locks, ended: make(chan struct{})}
	if err := d.start(file, f); err != nil {
		locks.Close()
		return nil, errors.Join(fmt.Errorf("starting the watchdog of pauses: %w", err), p.unmap())
	}
	for begin := time.Now(); p.header.ready.Load() == 0; time.Sleep(500 * time.Microsecond) {
		switch {
		case d.gone.Load():
			return nil, errors.Join(errors.New("the watchdog of pauses ended at once: main has to call pausing.RunIfWatchdog first"), d.close())
		case time.Since(begin) > startLimit:
			return nil, errors.Join(fmt.Errorf("the watchdog of pauses is not ready after %v: the machine is too busy, or main does not call pausing.RunIfWatchdog first", startLimit), d.close())
		}
	}
	return d, nil
}

func (d *watchdog) start(file *os.File, f *freezer) error {
	end, lifeline, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	defer end.Close()
	thawing, thaw := "", d.locks // a place holder
	if f != nil {
		thawing, thaw = f.thawed, f.file
	}
	cmd := watchdogRole.Command(thawing)
	cmd.Stdin = end
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{file, thaw, d.locks}
	// What ends the process group or the session must not end the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		lifeline.Close()
		return err
	}
	d.pid, d.lifeline = cmd.Process.Pid, lifeline
	go func() {
		// How it ended does not matter: no pause begins after that.
		_ = cmd.Wait()
		d.gone.Store(true)
		close(d.ended)
	}()
	return nil
}

// arm announces a pause.
func (d *watchdog) arm(deadline time.Duration) error {
	if d.gone.Load() {
		return errors.New("the watchdog of pauses was ended: nothing is paused without it")
	}
	h := d.page.header
	h.pauses.Add(1)
	h.deadline.Store(int64(deadline))
	if h.awake.Load() == 1 {
		return nil
	}
	h.awake.Store(1)
	if _, err := d.lifeline.Write([]byte{0}); err != nil {
		h.deadline.Store(0)
		return fmt.Errorf("waking the watchdog of pauses: %w", err)
	}
	return nil
}

// disarm announces that the pause is over.
func (d *watchdog) disarm() { d.page.header.deadline.Store(0) }

func (d *watchdog) close() error {
	err := d.lifeline.Close()
	<-d.ended
	d.locks.Close()
	return errors.Join(err, d.page.unmap())
}

// watch is the watchdog.
func watch(thawing string) error {
	// They are meant for the process that pauses, whose end says more.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	p, err := mapPage(pageFile)
	if err != nil {
		return err
	}
	h := p.header
	h.awake.Store(1)
	h.ready.Store(1)
	pauses, since := h.pauses.Load(), time.Now()
	wait := look
	for {
		open, err := listen(wait)
		if err != nil {
			return errors.Join(err, p.release(thawing, true))
		}
		if !open {
			return p.release(thawing, true)
		}
		wait = look
		if deadline := time.Duration(h.deadline.Load()); deadline != 0 {
			left := deadline - now()
			if left <= 0 {
				// What cannot be continued has ended, or is tried again.
				_ = p.release(thawing, false)
				left = look
			}
			wait = min(wait, left+time.Millisecond)
		}
		if n := h.pauses.Load(); n != pauses {
			pauses, since = n, time.Now()
		}
		if h.deadline.Load() == 0 && time.Since(since) > restAfter {
			h.awake.Store(0)
			// A pause that began just now may not have seen that.
			if h.deadline.Load() == 0 {
				wait = -1
			} else {
				h.awake.Store(1)
			}
			since = time.Now()
		}
	}
}

// listen waits until something arrives in the pipe, and reports whether the other
// end is open. A negative time is forever.
func listen(wait time.Duration) (open bool, err error) {
	timeout := -1
	if wait >= 0 {
		timeout = int((wait + time.Millisecond - 1).Milliseconds())
	}
	fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
	n, err := unix.Poll(fds, timeout)
	if n == 0 || errors.Is(err, unix.EINTR) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("waiting for the pausing process: %w", err)
	}
	var bytes [64]byte
	n, err = unix.Read(0, bytes[:])
	return n > 0 || errors.Is(err, unix.EINTR), nil
}

// leave moves a state to running after the pause was ended, and reports whether
// the watchdog ended it before. What the watchdog is doing is waited for, lest it
// reach the next pause.
func (d *watchdog) leave(state *atomic.Uint32) (early bool) {
	giveUp := now() + time.Second
	for tries := 0; ; tries++ {
		old := state.Load()
		s := old & stateMask
		if s == releasing && !d.gone.Load() && now() < giveUp {
			rest(tries)
			continue
		}
		if state.CompareAndSwap(old, running) {
			return s == releasing || s == released
		}
	}
}

// release continues what is paused. Everything is what a pause may have reached
// even after the watchdog continued it.
func (p *page) release(thawing string, everything bool) error {
	var errs []error
	if thawing != "" {
		errs = append(errs, releaseOne(&p.header.frozen, everything, func() error {
			_, err := unix.Pwrite(freezerFile, []byte(thawing), 0)
			if err != nil && !errors.Is(err, unix.ENODEV) {
				return fmt.Errorf("thawing the cgroup: %w", err)
			}
			return nil
		}))
	}
	// Children first, as in signals.resume.
	for i := int(p.header.used.Load()) - 1; i >= 0; i-- {
		s := &p.slots[i]
		errs = append(errs, releaseOne(&s.state, everything, func() error {
			return continueProcess(int(s.pid.Load()), s.start.Load())
		}))
	}
	return errors.Join(errs...)
}

func releaseOne(state *atomic.Uint32, everything bool, resume func() error) error {
	old := state.Load()
	generation := old &^ stateMask
	switch s := old & stateMask; {
	case s == paused:
		if !state.CompareAndSwap(old, generation|releasing) {
			return nil // the group has ended the pause
		}
		err := resume()
		state.CompareAndSwap(generation|releasing, generation|released)
		return err
	case s == pausing, everything && s != running:
		return resume()
	}
	return nil
}

// continueProcess continues the process that was started at a time, if it still exists.
func continueProcess(pid int, start uint64) error {
	id, err := openIdentity(pid)
	if err != nil {
		return ignoreEnded(err)
	}
	defer id.close()
	s, err := readStat(pid)
	if err != nil || s.Start != start {
		return nil // it has ended
	}
	return ignoreEnded(id.signal(unix.SIGCONT))
}

func ignoreEnded(err error) error {
	if errors.Is(err, ErrEnded) {
		return nil
	}
	return err
}
