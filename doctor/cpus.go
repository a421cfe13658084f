package doctor

import "fmt"

func (x *examination) cpus() Finding {
	f := Finding{Name: "cpus", Title: "CPUs"}
	switch {
	case x.machineErr != nil:
		f.State, f.Detail = Missing, "the machine cannot be read: "+x.machineErr.Error()
		f.Remedy = "mount /sys and /proc in this container or sandbox"
	case x.allowedErr != nil:
		f.State, f.Detail = Missing, x.allowedErr.Error()
		f.Remedy = "allow sched_getaffinity in the sandbox's system call filter"
	case x.machine.Online().Intersection(x.allowed).Size() < 2:
		f.State = Missing
		f.Detail = fmt.Sprintf("of the online CPUs %s this process may use %q only; the interferer needs one beside the application's", x.machine.Online(), x.allowed)
		f.Remedy = "give the machine or container a second CPU; start without taskset -c, or with a wider cpuset"
	default:
		f.State = OK
		f.Detail = fmt.Sprintf("CPUs %s may be used, of %s online%s", x.allowed.Intersection(x.machine.Online()), x.machine.Online(), model(x.machine.CPUModel))
	}
	return f
}

func model(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

func (x *examination) affinity() Finding {
	f := Finding{Name: "affinity", Title: "Pinning to CPUs"}
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		f.State, f.Detail = Inconclusive, "not tried: it is not known which CPUs may be used"
		return f
	}
	cpus := x.allowed.List()
	for _, cpu := range []int{cpus[0], cpus[len(cpus)-1]} {
		if err := x.Pin(cpu); err != nil {
			f.State, f.Detail = Missing, err.Error()
			f.Remedy = "allow sched_setaffinity in the sandbox's system call filter, or run outside the sandbox"
			return f
		}
	}
	f.State, f.Detail = OK, "threads can be pinned"
	return f
}

func (x *examination) placementFound() Finding {
	f := Finding{Name: "placement", Title: "Placement of application and interferer"}
	if x.placementErr != nil {
		f.State, f.Detail = Missing, x.placementErr.Error()
		return f
	}
	f.State = OK
	f.Detail = fmt.Sprintf("%s, %s. %s", plural(x.machine.Sockets(), "socket"), plural(len(x.machine.Nodes), "NUMA node"), x.placement.Explanation)
	if x.sharesCore() {
		f.State = Limited
		f.Detail += " They share a core (SMT), so curves hold contention for the core itself."
		f.Remedy = "allow this process the CPUs of a second core"
	}
	return f
}

// sharesCore reports whether the kernel lists a CPU of the target and one of
// the interferer on the same core.
func (x *examination) sharesCore() bool {
	cores := map[int]bool{}
	for _, id := range x.placement.Target.List() {
		if cpu, ok := x.machine.CPU(id); ok {
			cores[cpu.Core] = true
		}
	}
	for _, id := range x.placement.Interferer.List() {
		if cpu, ok := x.machine.CPU(id); ok && cores[cpu.Core] {
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

func (x *examination) lastLevelCache() Finding {
	f := Finding{Name: "last-level-cache", Title: "Separate last-level caches"}
	switch {
	case x.placementErr != nil:
		f.State, f.Detail = Inconclusive, "there is no placement to judge"
	case x.placement.SharedLastLevelCache == nil:
		f.State = Inconclusive
		f.Detail = "the kernel does not say which CPUs share one; curves may hold contention for cache as well as bandwidth"
	case *x.placement.SharedLastLevelCache:
		f.State = Limited
		f.Detail = "application and interferer share a last-level cache: curves hold contention for cache as well as bandwidth, and profiles say so"
		f.Remedy = "on a machine with several sockets or core complexes, allow this process CPUs of two of them"
	default:
		f.State, f.Detail = OK, "application and interferer have different ones: curves hold contention for bandwidth alone"
	}
	return f
}
