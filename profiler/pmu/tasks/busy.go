package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// ticksPerSecond is the unit of /proc/stat, which every architecture shows to
// programs as 100 a second (USER_HZ).
const ticksPerSecond = 100

// CPUTime is what all CPUs of the machine did since it booted, in seconds, to
// 10 ms.
type CPUTime struct {
	// All is the time of all CPUs together, Busy that in which they ran
	// something, Stolen that which a hypervisor gave to others.
	All, Busy, Stolen float64
}

// ReadCPUTime reads the first line of /proc/stat (proc_stat(5)); guest time is
// part of user:
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
func ReadCPUTime(proc fs.FS) (CPUTime, error) {
	data, err := read(proc, "stat")
	if err != nil {
		return CPUTime{}, fmt.Errorf("reading the machine's CPU time: %w; mount procfs on /proc", err)
	}
	return parseCPUTime(data)
}

// errBusy is wrapped by every fault of /proc/stat.
var errBusy = errors.New("/proc/stat: malformed")

func parseCPUTime(data []byte) (CPUTime, error) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	fields := bytes.Fields(line)
	const user, idle, iowait, softirq, steal = 1, 4, 5, 7, 8
	if len(fields) <= softirq || string(fields[0]) != "cpu" {
		return CPUTime{}, fmt.Errorf("%w: want a first line of \"cpu\" and seven numbers or more, got %.60q", errBusy, line)
	}
	var used CPUTime
	for i, field := range fields[user:min(steal+1, len(fields))] {
		ticks, err := strconv.ParseUint(string(field), 10, 56)
		if err != nil {
			return CPUTime{}, fmt.Errorf("%w: %.30q is no number of ticks", errBusy, field)
		}
		span := float64(ticks) / ticksPerSecond
		used.All += span
		switch i + user {
		case idle, iowait:
		case steal:
			used.Stolen = span
		default:
			used.Busy += span
		}
	}
	return used, nil
}
