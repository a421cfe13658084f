package pausing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// freezer pauses a cgroup.
type freezer struct {
	path string
	// file is written to freeze and thaw the cgroup.
	file           *os.File
	frozen, thawed string
	// asked is the file that says whether freezing was requested, and settled the file
	// that says whether it is complete.
	asked, settled     string
	askedIs, settledIs string
	dog                *watchdog
}

// openFreezer opens the freezer of a cgroup; nil where it has none, or where this
// process may not use it. The error wraps ErrBusy.
func openFreezer(path string) (*freezer, error) {
	// See the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/freezer-subsystem.rst.
	kinds := []freezer{
		{asked: "cgroup.freeze", askedIs: "1", frozen: "1", thawed: "0", settled: "cgroup.events", settledIs: "frozen 1"},
		{asked: "freezer.state", askedIs: "F", frozen: "FROZEN", thawed: "THAWED", settled: "freezer.state", settledIs: "FROZEN"},
	}
	for _, f := range kinds {
		file, err := os.OpenFile(filepath.Join(path, f.asked), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("freezer: %w", err)
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			file.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("cgroup %s %w: wait until it has finished", path, ErrBusy)
			}
			return nil, fmt.Errorf("freezer of cgroup %s: flock: %w", path, err)
		}
		f.path, f.file = path, file
		return &f, nil
	}
	return nil, nil
}

func (f *freezer) close() error { return f.file.Close() }

func (f *freezer) pause(deadline time.Duration) error {
	if populated, err := f.populated(); err != nil || !populated {
		return f.wrap(cmp.Or(err, ErrEnded))
	}
	foreign, err := f.says(f.asked, f.askedIs)
	if err != nil {
		return err
	}
	if !foreign {
		state := &f.dog.page.header.frozen
		f.dog.page.enter(state, pausing)
		if err := f.write(f.frozen); err != nil {
			state.Store(running)
			return err
		}
		f.dog.page.enter(state, paused)
	}
	for tries := 0; ; tries++ {
		settled, err := f.says(f.settled, f.settledIs)
		if err != nil || settled {
			return err
		}
		if now() >= deadline {
			return fmt.Errorf("cgroup %s did not freeze in time: %w", f.path, ErrTooLong)
		}
		rest(tries)
	}
}

// populated reports whether there are processes in the cgroup or below it.
func (f *freezer) populated() (bool, error) {
	if f.settled == "cgroup.events" {
		return f.says(f.settled, "populated 1")
	}
	pids, err := (&cgroupMembers{path: f.path}).list()
	return len(pids) > 0, err
}

func (f *freezer) resume() error {
	state := &f.dog.page.header.frozen
	if old := state.Load() & stateMask; old != running && old != released {
		if err := f.write(f.thawed); err != nil && !errors.Is(err, ErrEnded) {
			return err // and the watchdog tries
		}
	}
	if f.dog.leave(state) {
		return fmt.Errorf("cgroup %s: %w: the watchdog thawed it", f.path, ErrTooLong)
	}
	return nil
}

func (f *freezer) write(word string) error {
	_, err := retry(func() (int, error) { return unix.Pwrite(int(f.file.Fd()), []byte(word), 0) })
	return f.wrap(err)
}

// says reports whether a file of the cgroup has a word.
func (f *freezer) says(file, word string) (bool, error) {
	var buffer [256]byte
	data, err := readSmall(filepath.Join(f.path, file), buffer[:])
	if err != nil {
		return false, f.wrap(err)
	}
	return bytes.Contains(data, []byte(word)), nil
}

func (f *freezer) wrap(err error) error {
	if errors.Is(err, unix.ENODEV) || errors.Is(err, ErrEnded) {
		return fmt.Errorf("cgroup %s: %w", f.path, ErrEnded)
	}
	if err != nil {
		return fmt.Errorf("freezer of cgroup %s: %w", f.path, err)
	}
	return nil
}
