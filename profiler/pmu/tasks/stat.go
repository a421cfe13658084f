package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"bandmate.dev/bandmate/internal/sysfile"
)

// state is the start of a line of /proc/PID/stat.
type state struct {
	pid, parent int
	// session is the number of the process that leads or led its session; 0 is unknown.
	session int
	ended   bool
}

// errStat is wrapped by every fault of a stat file.
var errStat = errors.New("not the state of a process")

// parseStat reads the start of /proc/PID/stat (proc_pid_stat(5)):
//
//	1234 (some (odd) name) S 1 1234 1234 0 -1 ...
//
// The name may hold blanks and parentheses; it ends at the last ")". Processes
// in the states Z and X have ended, unless the field 20 says that other threads
// run on after the first one.
func parseStat(data []byte) (state, error) {
	fault := func(what string) (state, error) {
		return state{}, fmt.Errorf("%w: %.40q has no %s; want PID (NAME) STATE PARENT", errStat, data, what)
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return fault("name in parentheses")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil || pid < 1 {
		return fault("number in front")
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 2 {
		return fault("parent")
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil || parent < 0 {
		return fault("parent")
	}
	session, threads := 0, 0
	if len(fields) > 3 {
		session, _ = strconv.Atoi(string(fields[3]))
	}
	if len(fields) > 17 {
		threads, _ = strconv.Atoi(string(fields[17]))
	}
	letter := string(fields[0])
	return state{pid: pid, parent: parent, session: session, ended: (letter == "Z" || letter == "X") && threads <= 1}, nil
}

// maxFileBytes is far above the files read here; a cgroup of 64k threads has
// half a megabyte of numbers.
const maxFileBytes = 1 << 22

func read(fsys fs.FS, name string) ([]byte, error) { return sysfile.Read(fsys, name, maxFileBytes) }

// isGone reports whether a file does not exist, or its process or group ended
// while it was read.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH)
}
