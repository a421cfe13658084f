package onboard

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// processState is the start of a line of /proc/PID/stat.
type processState struct {
	pid, parent int
	zombie      bool
}

// orphans lists this process's children that are not known: what commands
// forked away, adopted when its parent ended.
func (l *launcher) orphans() []processState {
	l.mu.Lock()
	defer l.mu.Unlock()
	var left []processState
	self := os.Getpid()
	for _, p := range processes(os.DirFS("/proc")) {
		if p.parent == self && !l.known[p.pid] {
			left = append(left, p)
		}
	}
	return left
}

// processes reads every PID/stat below proc that can be read.
func processes(proc fs.FS) []processState {
	entries, err := fs.ReadDir(proc, ".")
	if err != nil {
		return nil
	}
	var all []processState
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		data, err := fs.ReadFile(proc, entry.Name()+"/stat")
		if err != nil {
			continue
		}
		if p, err := parseStat(data); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads the start of /proc/PID/stat (proc_pid_stat(5)):
//
//	1234 (some (odd) name) S 1 1234 1234 0 -1 ...
//
// The name may hold blanks and parentheses; it ends at the last ")".
func parseStat(data []byte) (processState, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open >= 0 && end > open {
		pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
		fields := bytes.Fields(data[end+1:])
		if err == nil && len(fields) >= 2 {
			state := string(fields[0])
			parent, err := strconv.Atoi(string(fields[1]))
			if err == nil {
				return processState{pid: pid, parent: parent, zombie: state == "Z" || state == "X"}, nil
			}
		}
	}
	return processState{}, fmt.Errorf("process state %.60q: want PID (NAME) STATE PARENT", data)
}
