package pausing

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// Cgroup returns a group of everything in a cgroup and in those below it, named by
// its folder; one that is not absolute is below /sys/fs/cgroup. It is paused by the
// freezer of cgroups version 2 or 1 where this process may use it, and otherwise by
// signals to its processes. What was frozen before stays frozen.
//
// The error is like that of [Processes]. Close the group.
func Cgroup(path string) (*Group, error) {
	members, err := membersOf(path)
	if err != nil {
		return nil, err
	}
	if err := members.check(); err != nil {
		return nil, err
	}
	f, err := openFreezer(members.path)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return open(nil, func(dog *watchdog) (brake, error) { return newSignals(dog, members) })
	}
	g, err := open(f, func(dog *watchdog) (brake, error) {
		f.dog = dog
		return f, nil
	})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return g, nil
}

// CgroupProcesses lists the processes of a cgroup, which is named as for [Cgroup],
// and of those below it. The error wraps [ErrRefused] where there are processes of
// another PID namespace.
func CgroupProcesses(path string) ([]int, error) {
	members, err := membersOf(path)
	if err != nil {
		return nil, err
	}
	return members.list()
}

// cgroupMembers is the roster of a cgroup.
type cgroupMembers struct{ path string }

func membersOf(path string) (*cgroupMembers, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cgroupRoot, path)
	}
	if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err != nil {
		return nil, fmt.Errorf("%s is not a cgroup: %w; list them with: systemd-cgls", path, err)
	}
	return &cgroupMembers{path: path}, nil
}

func (c *cgroupMembers) String() string { return "cgroup " + c.path }

func (c *cgroupMembers) settle() {}

func (c *cgroupMembers) find(isMember func(pid int) bool) ([]int, error) {
	pids, err := c.list()
	if err != nil {
		return nil, err
	}
	var found []int
	for _, pid := range pids {
		if !isMember(pid) {
			found = append(found, pid)
		}
	}
	return found, nil
}

// list reads the processes of the cgroup and of those below; none when it has been
// removed.
func (c *cgroupMembers) list() ([]int, error) {
	var pids []int
	err := filepath.WalkDir(c.path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return ignoreGone(err)
		}
		data, err := os.ReadFile(filepath.Join(name, "cgroup.procs"))
		if errors.Is(err, unix.EOPNOTSUPP) {
			// A cgroup of threads, whose processes belong to the one above.
			return nil
		}
		if err != nil {
			return ignoreGone(err)
		}
		for line := range bytes.Lines(data) {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil {
				return fmt.Errorf("%s: %.20q is not a process", name, line)
			}
			if pid == 0 {
				return fmt.Errorf("%s has processes of another PID namespace: %w; run on the host, or with the host's PID namespace", name, ErrRefused)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return pids, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// check refuses what must not be frozen.
func (c *cgroupMembers) check() error {
	pids, err := c.list()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		st, err := readStat(pid)
		if err != nil {
			continue // it has ended
		}
		if err := refuse(pid, st, false); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	if len(pids) == 0 {
		return fmt.Errorf("%s: %w", c, ErrEnded)
	}
	return nil
}
