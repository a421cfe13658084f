package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

// memoryPMUs lists the perf devices that count traffic at the memory controllers
// or right before them, by the catalog of what can be measured, as they appear
// under /sys/bus/event_source/devices.
func (x *examination) memoryPMUs() ([]string, error) {
	entries, err := fs.ReadDir(x.Sys, "bus/event_source/devices")
	if err != nil {
		return nil, err
	}
	var found []string
	known := catalog.NewMatcher(catalog.Rows())
	for _, e := range entries {
		if known.Knows(e.Name()) {
			found = append(found, e.Name())
		}
	}
	return found, nil
}

const probeInstead = "bandwidth is inferred with the probe source instead, from how far the application slows known streams"

func (x *examination) counters() Finding {
	f := Finding{Name: "memory-counters", Title: "Memory-controller counters"}
	found, err := x.memoryPMUs()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Detail = Missing, "the kernel has no perf events; "+probeInstead
		f.Remedy = "use a kernel with CONFIG_PERF_EVENTS, and mount /sys"
	case err != nil:
		f.State, f.Detail = Inconclusive, err.Error()
	case len(found) > 0:
		f.State, f.Detail = OK, "the kernel lists "+strings.Join(shorten(found, 4), ", ")
	case x.machine != nil && x.machine.VirtualMachine:
		f.State = Missing
		f.Detail = "this is a virtual machine, and hypervisors do not pass the counters of the memory controllers on; " + probeInstead
		f.Remedy = "for exact counters use a bare-metal machine of the same type"
	default:
		f.State, f.Detail = Missing, "no driver of memory-controller counters is loaded; "+probeInstead
		f.Remedy = "sudo modprobe -a intel_uncore amd_uncore arm-cmn; if that finds nothing, a newer kernel (AMD Zen 4 and later: Linux 6.7)"
	}
	return f
}

// shorten keeps the first n and counts the rest.
func shorten(list []string, n int) []string {
	if len(list) <= n+1 {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("%d more", len(list)-n))
}

// counterPermission tries what /proc/sys/kernel/perf_event_paranoid
// (Documentation/admin-guide/sysctl/kernel.rst) governs: with 0 or less
// everybody may count a whole CPU, above it CAP_PERFMON is needed.
func (x *examination) counterPermission() Finding {
	f := Finding{Name: "counter-permission", Title: "Permission to count"}
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		f.State, f.Detail = Inconclusive, "not tried: it is not known which CPUs may be used"
		return f
	}
	level, err := read(x.Proc, "sys/kernel/perf_event_paranoid")
	if err != nil {
		level = "unknown"
	}
	err = x.OpenSystemWide(x.allowed.List()[0])
	switch {
	case err == nil:
		f.State, f.Detail = OK, fmt.Sprintf("this process may count whole CPUs (perf_event_paranoid is %s)", level)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		f.State = Limited
		f.Detail = fmt.Sprintf("this process may not count whole CPUs: perf_event_paranoid is %s and CAP_PERFMON is not held, or a sandbox forbids it (%v)", level, err)
		f.Remedy = "sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon+ep \"$(command -v bandmate)\", or in a container add the capability PERFMON"
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOENT):
		f.State, f.Detail = Missing, fmt.Sprintf("the kernel or the sandbox offers no perf events (%v)", err)
		f.Remedy = "use a kernel with CONFIG_PERF_EVENTS, and allow perf_event_open in the sandbox"
	default:
		f.State, f.Detail = Inconclusive, err.Error()
	}
	return f
}

// cacheMonitoring looks for resctrl (Documentation/filesystems/resctrl.rst):
//
//	/sys/fs/resctrl/info/L3_MON/mon_features   llc_occupancy
//	                                           mbm_total_bytes
//	                                           mbm_local_bytes
func (x *examination) cacheMonitoring() Finding {
	f := Finding{Name: "resctrl", Title: "Cache and bandwidth monitoring (resctrl)"}
	features, err := read(x.Sys, "fs/resctrl/info/L3_MON/mon_features")
	if err == nil {
		if slices.Contains(strings.Fields(features), "mbm_total_bytes") {
			f.State, f.Detail = OK, "resctrl counts the bandwidth of each group of tasks"
			return f
		}
		f.State, f.Detail = Limited, "resctrl is mounted but does not count bandwidth on this processor"
		return f
	}
	if _, err := fs.Stat(x.Sys, "fs/resctrl/info"); err == nil {
		f.State, f.Detail = Limited, "resctrl is mounted but monitors nothing on this processor"
		return f
	}
	known, err := read(x.Proc, "filesystems")
	switch {
	case err != nil:
		f.State, f.Detail = Inconclusive, err.Error()
	case slices.Contains(strings.Fields(known), "resctrl"):
		f.State, f.Detail = Limited, "the processor and the kernel can do it, but it is not mounted"
		f.Remedy = "sudo mount -t resctrl resctrl /sys/fs/resctrl"
	default:
		f.State, f.Detail = Missing, "the processor or the kernel does not offer it; nothing here needs it"
	}
	return f
}
