package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another watch works with the same folder.
var ErrLocked = errors.New("another watch is running")

// lock takes the folder for this process. The kernel gives it back when the
// process ends, however it ends.
func lock(folder string) (*os.File, error) {
	name := filepath.Join(folder, lockName)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // the folder is the user's choice
	if err != nil {
		return nil, fmt.Errorf("lock of the watch: %w: choose a folder that you may write to with --state", err)
	}
	if err := lockPatiently(file, func() { time.Sleep(lockPause) }); err != nil {
		owner, _ := os.ReadFile(name)
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: process %s has %s: see bandmate slurm watch status", ErrLocked, strings.TrimSpace(string(owner)), folder)
		}
		return nil, fmt.Errorf("locking %s: %w: choose a folder on a local file system with --state", name, err)
	}
	// The number is for people. It must not keep a watch from taking back what it set
	// when the disk is full.
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	return file, nil
}

// Running has the lock for a moment: a lock that is taken is tried again.
const (
	lockTries = 5
	lockPause = 100 * time.Millisecond
)

func lockPatiently(file *os.File, pause func()) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for try := 1; try < lockTries && errors.Is(err, unix.EWOULDBLOCK); try++ {
		pause()
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	return err
}

// Running reports whether a watch works with the folder, and which process it is.
func Running(folder string) (process string, running bool) {
	file, err := os.Open(filepath.Join(folder, lockName)) //nolint:gosec // the folder is the user's choice
	if err != nil {
		return "", false
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return "", false
	}
	owner, _ := os.ReadFile(file.Name())
	return strings.TrimSpace(string(owner)), true
}
