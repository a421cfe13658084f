package pausing

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/procstat"
)

// identity identifies a process even if its number is reused.
type identity struct {
	pid int
	// pidfd is -1 on kernels without (before 5.3).
	pidfd int
}

// openIdentity returns an error that wraps ErrEnded for a number that is not a
// process, but a thread of one, too.
func openIdentity(pid int) (identity, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		return identity{pid: pid, pidfd: fd}, nil
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // by an old kernel; by a filter of a container
		if _, err := os.Stat(procPath(pid, "")); err != nil || !leadsThreads(pid) {
			return identity{}, fmt.Errorf("process %d: %w", pid, ErrEnded)
		}
		return identity{pid: pid, pidfd: -1}, nil
	case errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT):
		return identity{}, fmt.Errorf("process %d: %w", pid, ErrEnded)
	}
	return identity{}, fmt.Errorf("process %d: pidfd_open: %w", pid, err)
}

func (id identity) close() {
	if id.pidfd >= 0 {
		_ = unix.Close(id.pidfd)
	}
}

// signal sends a signal; 0 only asks whether that may be done.
func (id identity) signal(s unix.Signal) error {
	var err error
	if id.pidfd >= 0 {
		err = unix.PidfdSendSignal(id.pidfd, s, nil, 0)
	} else {
		err = unix.Kill(id.pid, s)
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d: %w", id.pid, ErrEnded)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("process %d belongs to another user: %w; run as that user, or with CAP_KILL (root)", id.pid, os.ErrPermission)
	case err != nil:
		return fmt.Errorf("process %d: %w", id.pid, err)
	}
	return nil
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

// procPath returns the path of a process's file in procfs.
func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// readStat reads the state of a process or of a thread. The error wraps ErrEnded
// when there is none.
func readStat(pid int) (procstat.Stat, error) { return readStatFile(procPath(pid, "stat")) }

func readStatFile(path string) (procstat.Stat, error) {
	// The line is shorter: a name of 16 bytes and 51 numbers.
	var buffer [1536]byte
	data, err := readSmall(path, buffer[:])
	if err != nil {
		return procstat.Stat{}, err
	}
	return procstat.Parse(data)
}

// readSmall reads a file without the poller of package os, for speed.
func readSmall(path string, buffer []byte) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, procError(path, err)
	}
	n, err := retry(func() (int, error) { return unix.Read(fd, buffer) })
	_ = unix.Close(fd)
	if err != nil {
		return nil, procError(path, err)
	}
	return buffer[:n], nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func procError(path string, err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%s: %w", path, ErrEnded)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// leadsThreads reports whether a number is that of a process, and not of another
// thread of one.
func leadsThreads(pid int) bool { return readStatus(pid).number("Tgid", 10) == uint64(pid) }

// status is /proc/PID/status (proc_pid_status(5)): lines of KEY:\tVALUE.
type status []byte

// readStatus returns nothing for a process that has ended.
func readStatus(pid int) status {
	data, err := readSmall(procPath(pid, "status"), make([]byte, 8192))
	if err != nil {
		return nil
	}
	return data
}

// number returns a number by its key; 0 when there is none.
func (s status) number(key string, base int) uint64 {
	for line := range bytes.Lines(s) {
		if rest, found := bytes.CutPrefix(line, []byte(key+":")); found {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), base, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// stopIsPending reports whether somebody else wants a process stopped that is
// stopped already: such a signal waits, and is discarded when the process is
// continued. One that is blocked waits for other reasons. With ours a pending SIGSTOP may be
// that of this package.
func stopIsPending(pid int, ours bool) bool {
	s := readStatus(pid)
	pending, blocked := s.number("ShdPnd", 16), s.number("SigBlk", 16)|s.number("SigCgt", 16)
	return !ours && has(pending, unix.SIGSTOP) || has(pending&^blocked, unix.SIGTSTP)
}

func has(mask uint64, s unix.Signal) bool { return mask&(1<<(s-1)) != 0 }
