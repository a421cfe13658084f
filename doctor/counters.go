package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/resctrl"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

const probeInstead = "bandwidth is inferred with the probe source instead, from how far the application slows known streams"

// counters looks for perf devices that count traffic at the memory controllers
// or right before them, by the catalog of what can be measured.
func (x *examination) counters() Outcome {
	names, err := sysfs.Names(x.Sys)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing("the kernel has no perf events; "+probeInstead, "use a kernel with CONFIG_PERF_EVENTS, and mount /sys")
	case err != nil:
		return inconclusive(err.Error())
	}
	known := catalog.NewMatcher(catalog.Rows())
	found := slices.DeleteFunc(names, func(name string) bool { return !known.Knows(name) })
	switch {
	case len(found) > 0:
		return ok("the kernel lists " + strings.Join(shorten(found, 4), ", "))
	case x.machine != nil && x.machine.VirtualMachine:
		return missing(
			"this is a virtual machine, and hypervisors do not pass the counters of the memory controllers on; "+probeInstead,
			"for exact counters use a bare-metal machine of the same type")
	}
	return missing(
		"no driver of memory-controller counters is loaded; "+probeInstead,
		"sudo modprobe -a "+strings.Join(drivers(), " ")+"; if that finds nothing, a newer kernel (AMD Zen 4 and later: Linux 6.7)")
}

// drivers are the kernel modules of the catalog.
func drivers() []string {
	var modules []string
	for _, r := range catalog.Rows() {
		isOption := strings.Contains(r.Module, " ")
		if !isOption && !slices.Contains(modules, r.Module) {
			modules = append(modules, r.Module)
		}
	}
	return modules
}

// shorten keeps the first n and counts the rest.
func shorten(list []string, n int) []string {
	if len(list) <= n+1 {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("%d more", len(list)-n))
}

// counterPermission tries what /proc/sys/kernel/perf_event_paranoid
// (Documentation/admin-guide/sysctl/kernel.rst) governs: with 0 or less every user may
// count a whole CPU, above it CAP_PERFMON is needed.
func (x *examination) counterPermission() Outcome {
	if x.allowedErr != nil || x.allowed.IsEmpty() {
		return inconclusive(cpusUnknown)
	}
	level, err := sysfile.Text(x.Proc, "sys/kernel/perf_event_paranoid")
	if err != nil {
		level = "unknown"
	}
	err = x.OpenSystemWide(x.allowed.List()[0])
	switch {
	case err == nil:
		return ok(fmt.Sprintf("this process may count whole CPUs (perf_event_paranoid is %s)", level))
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return limited(
			fmt.Sprintf("this process may not count whole CPUs: perf_event_paranoid is %s and CAP_PERFMON is not held, or a sandbox forbids it (%v)", level, err),
			"sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon+ep \"$(command -v bandmate)\", or in a container add the capability PERFMON")
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOENT):
		return missing(
			fmt.Sprintf("the kernel or the sandbox offers no perf events (%v)", err),
			"use a kernel with CONFIG_PERF_EVENTS, and allow perf_event_open in the sandbox")
	}
	return inconclusive(err.Error())
}

func (x *examination) cacheMonitoring() Outcome {
	err := resctrl.Supported(x.Sys)
	switch {
	case err == nil:
		if resctrl.CountsOccupancy(x.Sys) == nil {
			return ok("resctrl counts the bandwidth of each group of tasks, and what it holds of the caches")
		}
		return ok("resctrl counts the bandwidth of each group of tasks")
	case errors.Is(err, resctrl.ErrNoBandwidth):
		return limited("resctrl is mounted, but: "+err.Error(), "")
	case !errors.Is(err, fs.ErrNotExist):
		return inconclusive(err.Error())
	}
	known, err := sysfile.Text(x.Proc, "filesystems")
	switch {
	case err != nil:
		return inconclusive(err.Error())
	case slices.Contains(strings.Fields(known), "resctrl"):
		return limited("the processor and the kernel can do it, but it is not mounted", "sudo mount -t resctrl resctrl /sys/fs/resctrl")
	}
	return missing("the processor or the kernel does not offer it; nothing here needs it", "")
}
