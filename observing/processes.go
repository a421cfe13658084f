package observing

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// Process is the state of a process at one moment.
type Process struct {
	PID, Parent int
	// Session is the number of the process that leads its session, or led it.
	Session int
	// Name is that of the executable, up to 15 bytes.
	Name string
	// Kernel says that it is a thread of the kernel.
	Kernel bool
	// Start distinguishes it from earlier processes with its number.
	Start uint64
	// Time is the CPU time it has used.
	Time time.Duration
}

// Snapshot holds the processes of a moment by their numbers.
type Snapshot struct {
	At        time.Time
	Processes map[int]Process
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

// userHz is the unit of times in /proc/PID/stat; Linux shows programs no other.
const userHz = 100

// TakeSnapshot reads /proc.
func TakeSnapshot() (Snapshot, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return Snapshot{}, fmt.Errorf("listing processes: %w; mount procfs on /proc", err)
	}
	s := Snapshot{At: time.Now(), Processes: map[int]Process{}}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil {
			continue // it has ended
		}
		s.Processes[stat.PID] = Process{
			PID: stat.PID, Parent: stat.PPID, Session: stat.Session, Name: stat.Comm, Kernel: stat.Flags&kernelThread != 0, Start: stat.Starttime,
			Time: time.Duration(stat.UTime+stat.STime) * time.Second / userHz,
		}
	}
	return s, nil
}

// Lives reports whether the process is still there, and its number is not that of
// another one.
func (p Process) Lives() bool {
	proc, err := procfs.NewProc(p.PID)
	if err != nil {
		return false
	}
	stat, err := proc.Stat()
	return err == nil && stat.Starttime == p.Start
}

// isBelow reports whether a process is one of the roots or a descendant of one. All of a
// session descend from its leader, also where the parents in between have ended.
func (s Snapshot) isBelow(pid int, roots []int) bool {
	for range s.Processes {
		if slices.Contains(roots, pid) {
			return true
		}
		p, ok := s.Processes[pid]
		if !ok {
			return false
		}
		if slices.Contains(roots, p.Session) {
			return true
		}
		pid = p.Parent
	}
	return false
}

// Overlaps reports whether pausing one set of processes, with their descendants,
// would pause one of the other set.
func (s Snapshot) Overlaps(paused, others []int) bool {
	return slices.ContainsFunc(others, func(pid int) bool { return s.isBelow(pid, paused) })
}

// Roots returns those of the processes whose parents are not among them.
func (s Snapshot) Roots(pids []int) []int {
	var roots []int
	for _, pid := range pids {
		if p, ok := s.Processes[pid]; ok && !slices.Contains(pids, p.Parent) {
			roots = append(roots, pid)
		}
	}
	return roots
}

// Worker is a process that works, with its descendants.
type Worker struct {
	Process
	// CPUs is how many CPUs it kept busy.
	CPUs float64
}

// leastBusy is the share of a CPU from which a process counts as working.
const leastBusy = 0.01

// Busy returns the processes that worked between two snapshots and may be paused
// without pausing the target or this process, the busiest first. Descendants of one
// that is listed belong to it. Meets tells whether a process uses the memory domain of
// the target.
func Busy(before, after Snapshot, target []int, self int, meets func(pid int) bool) []Worker {
	spent := after.At.Sub(before.At).Seconds()
	busy := map[int]float64{}
	for pid, p := range after.Processes {
		then, known := before.Processes[pid]
		if !known || then.Start != p.Start {
			then.Time = 0
		}
		if share := (p.Time - then.Time).Seconds() / spent; share >= leastBusy {
			busy[pid] = share
		}
	}
	keep := append(slices.Clone(target), self)
	mayPause := func(p Process) bool {
		return p.PID > 1 && !p.Kernel && !after.isBelow(p.PID, keep) && !after.Overlaps([]int{p.PID}, keep)
	}
	workers := map[int]*Worker{}
	for pid, share := range busy {
		top := 0
		p, ok := after.Processes[pid]
		for range after.Processes {
			if !ok {
				break
			}
			if _, works := busy[p.PID]; works && mayPause(p) {
				top = p.PID
			}
			p, ok = after.above(p)
		}
		if top == 0 {
			continue
		}
		if workers[top] == nil {
			workers[top] = &Worker{Process: after.Processes[top]}
		}
		workers[top].CPUs += share
	}
	var list []Worker
	for _, w := range workers {
		if meets(w.PID) {
			list = append(list, *w)
		}
	}
	slices.SortFunc(list, busiestFirst)
	return list
}

// above returns the process that pausing p belongs to: its parent, or the leader of its
// session where the parent has ended.
func (s Snapshot) above(p Process) (Process, bool) {
	if parent, ok := s.Processes[p.Parent]; ok && parent.PID > 1 {
		return parent, true
	}
	leader, ok := s.Processes[p.Session]
	return leader, ok && leader.PID != p.PID
}

func busiestFirst(a, b Worker) int {
	return cmp.Or(cmp.Compare(b.CPUs, a.CPUs), cmp.Compare(a.PID, b.PID))
}

// Domain returns the CPUs that share a NUMA node or a last-level cache with any of
// the given ones.
func Domain(m *topology.Machine, cpus cpuset.CPUSet) cpuset.CPUSet {
	nodes := map[int]bool{}
	for _, id := range cpus.List() {
		if c, ok := m.CPU(id); ok {
			nodes[c.Node] = true
		}
	}
	domain := cpus
	for _, c := range m.CPUs {
		if nodes[c.Node] {
			domain = domain.Union(cpuset.New(c.ID))
		}
	}
	for _, id := range cpus.List() {
		if cache, ok := m.LastLevelCache(id); ok {
			domain = domain.Union(cache.CPUs)
		}
	}
	return domain
}

// CPUsOf returns the CPUs on which the threads of processes may run.
func CPUsOf(pids ...int) (cpuset.CPUSet, error) {
	all := cpuset.New()
	for _, pid := range pids {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return all, fmt.Errorf("threads of process %d: %w", pid, err)
		}
		for _, e := range entries {
			thread, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if cpus, err := topology.ThreadCPUs(thread); err == nil {
				all = all.Union(cpus)
			}
		}
	}
	return all, nil
}

// mostCommand bounds the command lines that are read.
const mostCommand = 4096

// Command returns the command line of a process, or its name in brackets.
func Command(p Process) string {
	file, err := os.Open("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err == nil {
		defer file.Close()
		data := make([]byte, mostCommand)
		n, _ := file.Read(data)
		if words := strings.ReplaceAll(strings.TrimRight(string(data[:n]), "\x00"), "\x00", " "); words != "" {
			return words
		}
	}
	return "[" + p.Name + "]"
}
