package pausing

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/sysfile"
)

// roster finds the processes that belong to a group.
type roster interface {
	// find lists processes that belong to the group and are not members yet. Those
	// given as roots have no member as a parent.
	find(isMember func(pid int) bool) ([]int, error)
	// settle is called when all members are paused since before the last find:
	// what that did not see does not belong to the group.
	settle()
	// String names the group.
	String() string
}

// tree is the roster of processes with their descendants.
//
// The kernel numbers processes and threads in turn and shows the last number in
// /proc/loadavg, so that finding new processes costs little when there are few.
type tree struct {
	roots []int
	// settled is the last number when the tree was known entirely; seen is the
	// last number at the last find. 0 is unknown.
	settled, seen int
	// sessions are those that members lead or led. Whatever is in one descends from its
	// leader, also where the parents in between have ended.
	sessions map[int]bool
}

func treeOf(pids []int) *tree { return &tree{roots: pids, sessions: map[int]bool{}} }

// maxNewNumbers is how many numbers are tried one by one before all processes
// are listed instead.
const maxNewNumbers = 1000

// limboNumbers is how many of the last numbers may belong to processes that are
// being started and not visible yet when processes are listed that run.
const limboNumbers = 256

func (t *tree) String() string {
	if len(t.roots) == 1 {
		return fmt.Sprintf("process %d", t.roots[0])
	}
	return fmt.Sprintf("processes %d", t.roots)
}

func (t *tree) settle() { t.settled = t.seen }

func (t *tree) find(isMember func(pid int) bool) ([]int, error) {
	return t.findUntil(lastNumber(), isMember)
}

// findUntil is find when last is the number of the process or thread that was
// started last, 0 when that is unknown.
func (t *tree) findUntil(last int, isMember func(pid int) bool) ([]int, error) {
	t.seen = last
	var candidates []int
	switch {
	case t.settled != 0 && last == t.settled:
		return nil, nil
	case t.settled != 0 && last > t.settled && last-t.settled <= maxNewNumbers:
		for pid := t.settled + 1; pid <= last; pid++ {
			candidates = append(candidates, pid)
		}
	default:
		all, err := sysfile.Numbers(os.DirFS("/proc"), ".")
		if err != nil {
			return nil, fmt.Errorf("listing processes: %w; mount procfs on /proc", err)
		}
		candidates = all
		if t.settled == 0 && last > limboNumbers {
			t.settled = last - limboNumbers
		}
	}
	children, inSession := make(map[int][]int), make(map[int][]int)
	sessions := make(map[int]int)
	var found []int
	taken := make(map[int]bool)
	take := func(pids ...int) {
		for _, pid := range pids {
			if !taken[pid] {
				taken[pid] = true
				found = append(found, pid)
			}
		}
	}
	for _, pid := range candidates {
		if isMember(pid) {
			continue
		}
		// One that cannot be read has ended.
		s, err := readStat(pid)
		if err != nil || s.AllEnded() {
			continue
		}
		sessions[pid] = s.Session
		if isMember(s.Parent) || t.isOurs(s.Session, isMember) {
			take(pid)
			continue
		}
		children[s.Parent] = append(children[s.Parent], pid)
		inSession[s.Session] = append(inSession[s.Session], pid)
	}
	for next := 0; next < len(found); {
		pid := found[next]
		next++
		take(children[pid]...)
		session := sessions[pid]
		if session == pid {
			take(inSession[pid]...)
		}
		if session == pid || isMember(session) {
			t.sessions[session] = true
		}
	}
	return found, nil
}

// isOurs reports whether a member leads a session, or led it.
func (t *tree) isOurs(session int, isMember func(pid int) bool) bool {
	if isMember(session) {
		return true
	}
	if !t.sessions[session] {
		return false
	}
	// While there is a session, no process gets its number.
	if s, err := readStat(session); err == nil && !s.AllEnded() {
		delete(t.sessions, session)
		return false
	}
	return true
}

// lastNumber returns the number of the last process or thread that was started,
// 0 when it is unknown. It is the last field of /proc/loadavg:
//
//	0.20 0.18 0.12 1/80 11206
func lastNumber() int { return lastNumberIn("/proc/loadavg") }

// lastNumberIn returns 0 for a file that is not of procfs: in containers of LXC, lxcfs puts
// one in its place that has the numbers of the host, or old ones.
func lastNumberIn(path string) int {
	var files unix.Statfs_t
	if unix.Statfs(path, &files) != nil || files.Type != unix.PROC_SUPER_MAGIC {
		return 0
	}
	var buffer [128]byte
	data, err := readSmall(path, buffer[:])
	if err != nil {
		return 0
	}
	data = bytes.TrimSpace(data)
	n, err := strconv.Atoi(string(data[bytes.LastIndexByte(data, ' ')+1:]))
	if err != nil {
		return 0
	}
	return n
}
