package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// ticksPerSecond is the unit of /proc/stat, which every architecture shows to
// programs as 100 a second (USER_HZ).
const ticksPerSecond = 100

// BusyTime returns the CPU time that everything on the machine used since it
// booted, to 10 ms, from /proc/stat:
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
func BusyTime(proc fs.FS) (time.Duration, error) {
	data, err := read(proc, "stat")
	if err != nil {
		return 0, fmt.Errorf("reading the machine's CPU time: %w; mount procfs on /proc", err)
	}
	return parseBusy(data)
}

// errBusy is wrapped by every fault of /proc/stat.
var errBusy = errors.New("/proc/stat: malformed")

func parseBusy(data []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	fields := bytes.Fields(line)
	const user, idle, iowait, softirq = 1, 4, 5, 7
	if len(fields) <= softirq || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("%w: want a first line of \"cpu\" and seven numbers or more, got %.60q", errBusy, line)
	}
	var ticks uint64
	for i := user; i <= softirq; i++ {
		n, err := strconv.ParseUint(string(fields[i]), 10, 64)
		if err != nil || n > 1<<56/ticksPerSecond {
			return 0, fmt.Errorf("%w: %.30q is no number of ticks", errBusy, fields[i])
		}
		if i != idle && i != iowait {
			ticks += n
		}
	}
	if ticks > uint64(1<<63-1)/uint64(time.Second)*ticksPerSecond {
		return 0, fmt.Errorf("%w: %d ticks are more than a machine's life", errBusy, ticks)
	}
	return time.Duration(ticks) * (time.Second / ticksPerSecond), nil
}
