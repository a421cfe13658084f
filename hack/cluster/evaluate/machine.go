package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// usage is CPU time in seconds, summed since a moment that differs from field to
// field: only differences mean anything.
type usage struct {
	capacity  float64            // of all CPUs, used or not
	busy      float64            // of all programs and the kernel
	steal     float64            // kept by the hypervisor
	ours      float64            // of the control plane and of this program
	scheduler map[string]float64 // of each scheduler
}

// ticks is how many of the kernel's counts of CPU time make a second; Linux shows
// programs 100 on every architecture that we build for.
const ticks = 100

// now reads what the machine and the cluster have used so far.
func now(c *controlplane.Cluster) (u usage, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u, err
	}
	if err := u.machine(string(text)); err != nil {
		return u, err
	}
	u.scheduler = map[string]float64{}
	for _, name := range append([]string{controlplane.Etcd, controlplane.APIServer}, schedulers...) {
		pid, err := c.PID(name)
		if err != nil {
			return u, err
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return u, err
		}
		seconds, err := processSeconds(string(text))
		if err != nil {
			return u, err
		}
		u.ours += seconds
		if slices.Contains(schedulers, name) {
			u.scheduler[name] = seconds
		}
	}
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, err
	}
	u.ours += float64(self.Utime.Nano()+self.Stime.Nano()) / 1e9
	return u, nil
}

// machine reads the first line of /proc/stat (proc_stat(5)):
//
//	cpu  2043488 151350 549039 1612642 7136 0 7621 13349 0 0
//
// user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
func (u *usage) machine(stat string) error {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return fmt.Errorf("/proc/stat: %q is no line of all CPUs", line)
	}
	for i, field := range fields[1:9] {
		count, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return fmt.Errorf("/proc/stat: %q: %w", line, err)
		}
		seconds := count / ticks
		u.capacity += seconds
		switch i {
		case 3, 4: // idle and iowait
		case 7:
			u.steal = seconds
		default:
			u.busy += seconds
		}
	}
	return nil
}

// processSeconds returns user and system time of a /proc/PID/stat
// (proc_pid_stat(5)): fields 14 and 15, where the second, the name in parentheses,
// may hold anything.
func processSeconds(stat string) (float64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat: %q is too short", stat)
	}
	var sum float64
	for _, field := range fields[11:13] {
		count, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: %q: %w", stat, err)
		}
		sum += count / ticks
	}
	return sum, nil
}

// since returns what was used after an earlier reading.
func (u usage) since(before usage) usage {
	d := usage{
		capacity: u.capacity - before.capacity, busy: u.busy - before.busy, steal: u.steal - before.steal,
		ours: u.ours - before.ours, scheduler: map[string]float64{},
	}
	for name, seconds := range u.scheduler {
		d.scheduler[name] = seconds - before.scheduler[name]
	}
	return d
}
