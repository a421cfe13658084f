package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/procstat"
	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/profiler"
)

// ErrEnded is wrapped when the processes to watch have ended, or never were.
var ErrEnded = errors.New("no such process")

// Tree is a process with all its descendants.
type Tree struct {
	proc fs.FS
	pid  int
	// pidfd stands for the very process, whatever gets its number later.
	pidfd int
}

var _ profiler.Processes = (*Tree)(nil)

// OpenTree opens a process of this machine; proc is the root of its procfs.
// Close it. The error wraps [ErrEnded] when there is no such process.
func OpenTree(proc fs.FS, pid int) (*Tree, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("process %d: %w; list them with: ps -e", pid, ErrEnded)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return &Tree{proc: proc, pid: pid, pidfd: fd}, nil
}

// Close ends the use of t.
func (t *Tree) Close() error { return unix.Close(t.pidfd) }

// String names the process.
func (t *Tree) String() string { return fmt.Sprintf("process %d and its descendants", t.pid) }

// Threads lists the threads of the process and of its descendants; none after the end of
// the process. A descendant whose parent has ended is missed, unless it is in a session that
// one of these leads.
func (t *Tree) Threads() ([]int, error) {
	children, err := t.families()
	if err != nil {
		return nil, err
	}
	if ended, err := t.ended(0); err != nil || ended {
		return nil, err
	}
	var threads []int
	for generation := []int{t.pid}; len(generation) > 0; {
		var next []int
		for _, pid := range generation {
			threads = append(threads, threadsOf(t.proc, pid)...)
			next = append(next, children[pid]...)
			delete(children, pid) // a number met twice ends the walk
		}
		generation = next
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

// families lists the children of every process, and who is in the session that it leads,
// for all of these descend from it.
func (t *Tree) families() (map[int][]int, error) {
	pids, err := sysfile.Numbers(t.proc, ".")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w; mount procfs on /proc", err)
	}
	children := map[int][]int{}
	for _, pid := range pids {
		data, err := read(t.proc, strconv.Itoa(pid)+"/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		s, err := procstat.Parse(data)
		if err != nil || s.AllEnded() {
			continue
		}
		children[s.Parent] = append(children[s.Parent], pid)
		if s.Session != pid && s.Session != s.Parent {
			children[s.Session] = append(children[s.Session], pid)
		}
	}
	return children, nil
}

// threadsOf lists the threads of a process; none when it has ended.
func threadsOf(proc fs.FS, pid int) []int {
	threads, err := sysfile.Numbers(proc, strconv.Itoa(pid)+"/task")
	if err != nil {
		return nil
	}
	return threads
}

// look is how often an ending is looked for.
const look = 100 * time.Millisecond

// Wait returns when the process has ended, whatever its descendants do.
func (t *Tree) Wait(ctx context.Context) error {
	for ctx.Err() == nil {
		if ended, err := t.ended(look); err != nil || ended {
			return err
		}
	}
	return context.Cause(ctx)
}

// ended waits for the end of the process for a while.
func (t *Tree) ended(patience time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(t.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(patience.Milliseconds()))
	if errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("waiting for process %d: %w", t.pid, err)
	}
	return n > 0, nil
}
