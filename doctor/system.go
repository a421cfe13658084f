package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// hugePages reads /sys/kernel/mm/transparent_hugepage/enabled
// (Documentation/admin-guide/mm/transhuge.rst); brackets mark the choice:
//
//	always [madvise] never
func (x *examination) hugePages() Finding {
	f := Finding{Name: "huge-pages", Title: "Transparent huge pages"}
	const loss = "streams over 4-KiB pages lose 7 to 15% of the bandwidth"
	text, err := read(x.Sys, "kernel/mm/transparent_hugepage/enabled")
	choice := bracketed(text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Detail = Missing, "the kernel has none; "+loss
		f.Remedy = "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
	case err != nil:
		f.State, f.Detail = Inconclusive, err.Error()
	case choice == "always", choice == "madvise":
		f.State, f.Detail = OK, "set to "+choice
	case choice == "never":
		f.State, f.Detail = Limited, "set to never; "+loss
		f.Remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
	default:
		f.State, f.Detail = Inconclusive, fmt.Sprintf("the setting reads %q", text)
	}
	return f
}

func bracketed(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	choice, _, found := strings.Cut(rest, "]")
	if !found {
		return ""
	}
	return choice
}

func (x *examination) realTime() Finding {
	f := Finding{Name: "real-time", Title: "Real-time priority"}
	if err := x.RealTime(); err != nil {
		f.State = Limited
		f.Detail = fmt.Sprintf("not permitted (%v): other programs on the interferer's CPUs can take them from it; what it then lost is reported", err)
		f.Remedy = "sudo setcap cap_sys_nice+ep \"$(command -v bandmate)\", or ulimit -r 1, or in a container add the capability SYS_NICE"
		return f
	}
	f.State, f.Detail = OK, "permitted: with --real-time nothing takes the interferer's CPUs from it"
	return f
}

// frequency reads cpufreq (Documentation/admin-guide/pm/cpufreq.rst):
//
//	/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor  performance
//	/sys/devices/system/cpu/cpufreq/boost                  1
//	/sys/devices/system/cpu/intel_pstate/no_turbo          0
func (x *examination) frequency() Finding {
	f := Finding{Name: "frequency", Title: "Frequency scaling"}
	governors := map[string]bool{}
	for _, cpu := range x.allowed.List() {
		governor, err := read(x.Sys, fmt.Sprintf("devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu))
		if err == nil {
			governors[governor] = true
		}
	}
	var others []string
	for g := range governors {
		if g != "performance" {
			others = append(others, g)
		}
	}
	slices.Sort(others)
	switch {
	case len(governors) == 0:
		f.State = Inconclusive
		f.Detail = "this kernel does not control the frequency; a hypervisor or the firmware may change it unseen"
	case len(others) > 0:
		f.State = Limited
		f.Detail = "the governor is " + strings.Join(others, " and ") + ": short runs may be timed while the frequency still rises" + x.boost()
		f.Remedy = "sudo cpupower frequency-set -g performance"
	default:
		f.State, f.Detail = OK, "the governor is performance"+x.boost()
	}
	return f
}

func (x *examination) boost() string {
	on := func(name, value string) bool { text, err := read(x.Sys, name); return err == nil && text == value }
	if on("devices/system/cpu/cpufreq/boost", "1") || on("devices/system/cpu/intel_pstate/no_turbo", "0") {
		return "; boost is on, so solo runs are taken beside spinning CPUs to keep the frequency comparable"
	}
	return ""
}

// clock reads /sys/devices/system/clocksource/clocksource0
// (Documentation/ABI/testing/sysfs-devices-clocksource):
//
//	current_clocksource    tsc
//	available_clocksource  tsc hpet acpi_pm
func (x *examination) clock() Finding {
	const dir = "devices/system/clocksource/clocksource0/"
	f := Finding{Name: "clock", Title: "Clock source"}
	current, err := read(x.Sys, dir+"current_clocksource")
	if err != nil {
		f.State, f.Detail = Inconclusive, err.Error()
		return f
	}
	switch current {
	case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource", "tod":
		f.State, f.Detail = OK, current+", which is read without entering the kernel"
		return f
	}
	f.State = Limited
	f.Detail = current + ", which is read through the kernel or a slow device: pacing and short timings lose precision"
	available, err := read(x.Sys, dir+"available_clocksource")
	if err == nil && slices.Contains(strings.Fields(available), "tsc") {
		f.Remedy = "echo tsc | sudo tee /sys/" + dir + "current_clocksource"
	} else {
		f.Remedy = "boot with clocksource=tsc tsc=reliable if the time-stamp counters of all CPUs agree (dmesg | grep -i tsc)"
	}
	return f
}

// What the interferer takes by default: buffers of 8 times the last-level
// caches it reaches, from at most a quarter of the memory that is available.
const (
	bufferPerCache    = 8
	assumedCacheBytes = 32 << 20
	memoryShare       = 4
)

func (x *examination) memory() Finding {
	f := Finding{Name: "memory", Title: "Memory for the interferer"}
	available, err := x.availableMemory()
	if err != nil {
		f.State, f.Detail = Inconclusive, err.Error()
		return f
	}
	cache, known := int64(assumedCacheBytes), false
	if x.placementErr == nil {
		if bytes, ok := x.machine.LastLevelCacheBytes(x.placement.Interferer); ok {
			cache, known = bytes, true
		}
	}
	need := bufferPerCache * cache
	f.Detail = fmt.Sprintf("%s available; the interferer's buffers take %s, %d times its last-level cache", size(available), size(need), bufferPerCache)
	if !known {
		f.Detail += " of assumed size"
	}
	f.State = OK
	if need > available/memoryShare {
		f.State = Limited
		f.Detail += fmt.Sprintf(", more than the quarter of memory it may take (%s)", size(available/memoryShare))
		f.Remedy = fmt.Sprintf("free memory or raise the container's limit, or permit more with --memory-cap %dMiB", (need+1<<20-1)>>20)
	}
	return f
}

// availableMemory reads MemAvailable of /proc/meminfo (proc_meminfo(5)), which
// is in kibibytes, and the limit of the container where there is one
// (Documentation/admin-guide/cgroup-v2.rst).
func (x *examination) availableMemory() (int64, error) {
	text, err := read(x.Proc, "meminfo")
	if err != nil {
		return 0, err
	}
	available := int64(-1)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
				return 0, fmt.Errorf("/proc/meminfo: MemAvailable is %q", strings.TrimSpace(value))
			}
			available = kib << 10
		}
	}
	if available < 0 {
		return 0, errors.New("/proc/meminfo has no line MemAvailable (Linux 3.14 or later)")
	}
	limit, limitErr := x.number("fs/cgroup/memory.max")
	used, usedErr := x.number("fs/cgroup/memory.current")
	if limitErr == nil && usedErr == nil {
		available = min(available, max(limit-used, 0))
	}
	return available, nil
}

func (x *examination) number(name string) (int64, error) {
	text, err := read(x.Sys, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func size(bytes int64) string {
	if bytes < 10<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d GiB", bytes>>30)
}
