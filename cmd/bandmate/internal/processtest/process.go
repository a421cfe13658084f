package processtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// EventuallyGone returns what find still finds after it was looked for a hundred
// times, a process being started and ended in between each time. That takes about a
// second, and on a busy machine as much longer as everything else does.
func EventuallyGone(find func() []int) (left []int) {
	for range 100 {
		if left = find(); len(left) == 0 {
			return nil
		}
		time.Sleep(8 * time.Millisecond)
		_ = exec.Command("true").Run()
	}
	return left
}

// ProcessesWith lists the living processes with a variable, as NAME=VALUE, in the
// environment that they were started with.
func ProcessesWith(variable string) []int {
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, file := range entries {
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+variable+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
