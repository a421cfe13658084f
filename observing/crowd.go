package observing

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Crowd tells how much a target waits for its CPUs because others use them. Begin it with
// [Watch].
type Crowd struct {
	proc   fs.FS
	roots  []int
	cpus   cpuset.CPUSet
	before Snapshot
	times  map[int]threadTimes
}

// threadTimes are the times that a thread has run and was ready to run but waited.
type threadTimes struct{ ran, waited time.Duration }

// Watch begins to watch a target from a snapshot on: processes with their descendants, which
// may use the CPUs.
func Watch(s Snapshot, roots []int, cpus cpuset.CPUSet) *Crowd {
	c := &Crowd{proc: os.DirFS("/proc"), roots: roots, cpus: cpus, before: s}
	c.times = c.read(s)
	return c
}

// read returns the times of the target's threads.
func (c *Crowd) read(s Snapshot) map[int]threadTimes {
	times := map[int]threadTimes{}
	for pid := range s.Processes {
		if !s.isBelow(pid, c.roots) {
			continue
		}
		dir := strconv.Itoa(pid) + "/task"
		threads, _ := sysfile.Numbers(c.proc, dir)
		for _, thread := range threads {
			if t, ok := readTimes(c.proc, fmt.Sprintf("%s/%d/schedstat", dir, thread)); ok {
				times[thread] = t
			}
		}
	}
	return times
}

// readTimes reads the times of a thread in schedstat (Documentation/scheduler/
// sched-stats.rst), in nanoseconds; false where the kernel does not keep them or the thread
// has ended. The third number counts the time slices:
//
//	6230083 7805087 4
func readTimes(proc fs.FS, name string) (threadTimes, bool) {
	text, err := sysfile.Text(proc, name)
	fields := strings.Fields(text)
	if err != nil || len(fields) < 2 {
		return threadTimes{}, false
	}
	ran, err := strconv.ParseInt(fields[0], 10, 64)
	waited, failed := strconv.ParseInt(fields[1], 10, 64)
	return threadTimes{time.Duration(ran), time.Duration(waited)}, err == nil && failed == nil
}

const (
	// crowded is the share of the time in which a target could run and waited from which
	// on others count.
	crowded = 0.1
	// mostNamed bounds the programs that are named.
	mostNamed = 3
)

// Others returns the share of the time since the beginning in which the target could run but
// waited, 0 to 1, and the programs that used its CPUs most until a later snapshot; false
// where it hardly waited, or where the kernel does not tell. The list is empty where
// others use too little of these CPUs to be the cause: threads of the target compete.
func (c *Crowd) Others(now Snapshot) (waited float64, who []Worker, ok bool) {
	var sum threadTimes
	for thread, t := range c.read(now) {
		if before, known := c.times[thread]; known {
			sum.ran += t.ran - before.ran
			sum.waited += t.waited - before.waited
		}
	}
	if sum.waited <= 0 || sum.waited.Seconds() < crowded*(sum.ran+sum.waited).Seconds() {
		return 0, nil, false
	}
	who = c.busy(now)
	used := 0.0
	for _, w := range who {
		used += w.CPUs
	}
	if used < crowded*float64(c.cpus.Size()) {
		who = nil
	}
	return sum.waited.Seconds() / (sum.ran + sum.waited).Seconds(), who[:min(len(who), mostNamed)], true
}

// busy returns who else worked and may use the target's CPUs, the busiest first.
func (c *Crowd) busy(now Snapshot) []Worker {
	var list []Worker
	spent := now.At.Sub(c.before.At).Seconds()
	for pid, p := range now.Processes {
		then, known := c.before.Processes[pid]
		if !known || then.Start != p.Start {
			then.Time = 0
		}
		share := (p.Time - then.Time).Seconds() / spent
		if p.Kernel || share < leastBusy || pid == os.Getpid() || now.isBelow(pid, c.roots) {
			continue
		}
		if cpus, err := CPUsOf(pid); err == nil && !cpus.Intersection(c.cpus).IsEmpty() {
			list = append(list, Worker{Process: p, CPUs: share})
		}
	}
	slices.SortFunc(list, busiestFirst)
	return list
}
