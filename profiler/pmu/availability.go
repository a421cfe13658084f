package pmu

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// missing returns the reason why a source of the catalog has no device.
func (h *Host) missing(source string, f found) profiler.Availability {
	a := profiler.Availability{State: profiler.Unsupported}
	rows := rowsOf(source)
	_, noEvents := sysfs.Names(h.Sys)
	switch {
	case errors.Is(noEvents, fs.ErrNotExist):
		a.Reason = "the kernel has no perf events"
		a.Remedy = "use a kernel with CONFIG_PERF_EVENTS, and mount /sys"
	case len(f.rejected) > 0:
		a.Reason = f.rejected[0].Device + ": " + f.rejected[0].Reason
		a.Remedy = "use a newer kernel or a newer version of this program, or another source"
	case !h.mayHave(rows):
		a.Reason = fmt.Sprintf("%s is not a processor with such counters", cmp.Or(h.Machine.CPUModel, "this"))
	case h.Machine.VirtualMachine:
		a.Reason = fmt.Sprintf("this is a virtual machine%s, whose hypervisor does not pass the counters of the memory controllers on", under(h.Machine.Hypervisor))
		a.Remedy = "use a bare-metal machine of the same type, or the source probe"
	default:
		a.Reason = fmt.Sprintf("the kernel lists no device %s: its driver is not loaded, or the kernel is too old for this processor", devices(rows))
		a.Remedy = driver(rows[0])
	}
	return a
}

func devices(rows []catalog.Row) string {
	var names []string
	for _, r := range rows {
		name := strings.ReplaceAll(strings.ReplaceAll(r.Device, "#", "N"), "*", "N")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func driver(r catalog.Row) string {
	if strings.Contains(r.Module, " ") {
		return "use a kernel with " + r.Module
	}
	return fmt.Sprintf("sudo modprobe %s; if that does not help, a newer kernel (%s: Linux %s)", r.Module, r.Platform, r.Kernel)
}

func under(hypervisor string) string {
	if hypervisor == "" {
		return ""
	}
	return " (" + hypervisor + ")"
}

// mayHave reports whether the processor's vendor is one of the rows'. A vendor
// is known for x86 and POWER only.
func (h *Host) mayHave(rows []catalog.Row) bool {
	p, err := sysfs.ReadProcessor(h.Proc)
	if err != nil {
		return true
	}
	isPOWER := strings.HasPrefix(h.Machine.CPUModel, "POWER")
	return slices.ContainsFunc(rows, func(r catalog.Row) bool {
		switch r.Module {
		case "intel_uncore":
			return p.Vendor == catalog.Intel
		case "amd_uncore":
			return p.Vendor == catalog.AMD
		}
		return p.Family == 0 && isPOWER == (r.Source == catalog.PowerNest)
	})
}

// refused returns the reason why a counter could not be opened.
func (h *Host) refused(err error) profiler.Availability {
	a := profiler.Availability{State: profiler.Inconclusive, Reason: err.Error()}
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		a.State = profiler.Unsupported
		a.Reason = fmt.Sprintf("this process may not count whole CPUs: perf_event_paranoid is %s and CAP_PERFMON is not held, or a sandbox forbids it (%v)", h.paranoid(), err)
		a.Remedy = permission
	case errors.Is(err, syscall.ENOSYS):
		a.State = profiler.Unsupported
		a.Reason = fmt.Sprintf("the kernel or the sandbox offers no perf events (%v)", err)
		a.Remedy = "use a kernel with CONFIG_PERF_EVENTS, and allow perf_event_open in the sandbox"
	case errors.Is(err, syscall.EBUSY):
		a.Reason = fmt.Sprintf("the counters are in use (%v)", err)
		a.Remedy = "end other tools that program them, such as pcm or likwid"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EOPNOTSUPP):
		a.Reason = fmt.Sprintf("the kernel lists the counters and refuses the event (%v)", err)
		a.Remedy = "look for the driver's message with: sudo dmesg | grep -i pmu"
	}
	return a
}

const permission = "sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon+ep \"$(command -v bandmate)\", or in a container add the capability PERFMON"

// paranoid is /proc/sys/kernel/perf_event_paranoid, for messages.
func (h *Host) paranoid() string {
	level, err := sysfile.Text(h.Proc, "sys/kernel/perf_event_paranoid")
	if err != nil {
		return "unknown"
	}
	return level
}
