package doctor

import (
	"fmt"
	"io/fs"

	"bandmate.dev/bandmate/topology"
)

func (x *examination) cpus() Outcome {
	switch {
	case x.machineErr != nil:
		return missing(x.machineErr.Error(), "mount /sys and /proc in this container or sandbox")
	case x.allowedErr != nil:
		return missing(x.allowedErr.Error(), "allow sched_getaffinity in the sandbox's system call filter")
	}
	online := x.machine.Online()
	usable := online.Intersection(x.allowed)
	if usable.Size() < 2 {
		return missing(
			fmt.Sprintf("of the online CPUs %s this process may use %q only; the interferer needs one beside the application's", online, x.allowed),
			"give the machine or container a second CPU; start without taskset -c, or with a wider cpuset")
	}
	return ok(fmt.Sprintf("CPUs %s may be used, of %s online%s", usable, online, parenthesized(x.machine.CPUModel)))
}

func parenthesized(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

const cpusUnknown = "not tried: it is not known which CPUs may be used"

func (x *examination) affinity() Outcome {
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		return inconclusive(cpusUnknown)
	}
	cpus := x.allowed.List()
	for _, cpu := range []int{cpus[0], cpus[len(cpus)-1]} {
		if err := x.Pin(cpu); err != nil {
			return missing(err.Error(), "allow sched_setaffinity in the sandbox's system call filter, or run outside the sandbox")
		}
	}
	return ok("threads can be pinned")
}

// cpuQuota compares the tightest quota with what the placement uses.
func (x *examination) cpuQuota() Outcome {
	if _, err := fs.Stat(x.Proc, "self/cgroup"); err != nil {
		return inconclusive(err.Error())
	}
	quota := topology.ReadQuota(x.Sys, x.Proc, "self")
	switch {
	case quota == nil:
		return ok("no control group limits the CPU time of this process")
	case x.placementErr != nil:
		return inconclusive(quota.String() + "; there is no placement to compare it with")
	}
	used := x.placement.Target.Union(x.placement.Interferer)
	if quota.Suffices(used.Size(), x.allowed) {
		return ok(quota.String() + ", as much as an experiment uses")
	}
	detail := fmt.Sprintf("%v, and application and interferer would use %d all the time: the kernel would stop them again and again", quota, used.Size())
	if quota.CPUs < 2 {
		return missing(detail, quota.Remedy())
	}
	within, _ := quota.Narrow(x.placement, x.allowed)
	return limited(fmt.Sprintf("%s; so experiments use only CPUs %s", detail, within), quota.Remedy())
}

func (x *examination) placementFound() Outcome {
	if x.placementErr != nil {
		return missing(x.placementErr.Error(), "")
	}
	detail := fmt.Sprintf("%s, %s. %s", plural(x.machine.Sockets(), "socket"), plural(len(x.machine.Nodes), "NUMA node"), x.placement.Explanation)
	if x.sharesCore() {
		return limited(detail+" They share a core (SMT), so curves hold contention for the core itself.", "allow this process the CPUs of a second core")
	}
	return ok(detail)
}

// sharesCore reports whether the kernel lists a CPU of the target and one of
// the interferer on the same core.
func (x *examination) sharesCore() bool {
	cores := map[int]bool{}
	for _, id := range x.placement.Target.List() {
		if cpu, online := x.machine.CPU(id); online {
			cores[cpu.Core] = true
		}
	}
	for _, id := range x.placement.Interferer.List() {
		if cpu, online := x.machine.CPU(id); online && cores[cpu.Core] {
			return true
		}
	}
	return false
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (x *examination) lastLevelCache() Outcome {
	switch {
	case x.placementErr != nil:
		return inconclusive("there is no placement to judge")
	case x.placement.SharedLastLevelCache == nil:
		return inconclusive("the kernel does not say which CPUs share one; curves may hold contention for cache as well as bandwidth")
	case *x.placement.SharedLastLevelCache:
		return limited(
			"application and interferer share a last-level cache: curves hold contention for cache as well as bandwidth, and profiles say so",
			"on a machine with several sockets or core complexes, allow this process CPUs of two of them")
	}
	return ok("application and interferer have different ones: curves hold contention for bandwidth alone")
}
