package pausing

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockPath is a file that every user may open. The group that may pause process N locks
// byte N; nothing is ever written. The lock belongs to the open file, which a group
// shares with its watchdog, so it is given back when both are done.
const lockPath = "/dev/shm/bandmate-pausing"

func openLocks() (*os.File, error) {
	// Where sticky folders are protected (fs.protected_regular), another user's
	// file opens only without O_CREAT.
	fd, err := unix.Open(lockPath, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		fd, err = unix.Open(lockPath, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
		if err == nil {
			// Past the umask; only the owner can, and has to.
			_ = unix.Fchmod(fd, 0o666)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locks of paused processes: %s: %w; it has to be a file that every user may read and write", lockPath, err)
	}
	return os.NewFile(uintptr(fd), lockPath), nil
}

// lock takes the right to pause a process. The error wraps ErrBusy.
func lock(locks *os.File, pid int) error {
	err := setLock(locks, pid, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("process %d %w: wait until it has finished", pid, ErrBusy)
	}
	if err != nil {
		return fmt.Errorf("lock of process %d: %w", pid, err)
	}
	return nil
}

// unlock gives it back. The only errors are those of a wrong file.
func unlock(locks *os.File, pid int) { _ = setLock(locks, pid, unix.F_UNLCK) }

func setLock(locks *os.File, pid int, kind int16) error {
	return unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(pid), Len: 1})
}
