package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/sysfile"
)

// hugePages reads /sys/kernel/mm/transparent_hugepage/enabled
// (Documentation/admin-guide/mm/transhuge.rst); brackets mark the choice:
//
//	always [madvise] never
func (x *examination) hugePages() Outcome {
	const loss = "streams over 4-KiB pages lose 7 to 15% of the bandwidth"
	text, err := sysfile.Text(x.Sys, "kernel/mm/transparent_hugepage/enabled")
	_, rest, _ := strings.Cut(text, "[")
	choice, _, closed := strings.Cut(rest, "]")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing("the kernel has none; "+loss, "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE")
	case err != nil:
		return inconclusive(err.Error())
	case !closed:
		// The last return.
	case choice == "always", choice == "madvise":
		return ok("set to " + choice)
	case choice == "never":
		return limited("set to never; "+loss, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled")
	}
	return inconclusive(fmt.Sprintf("the setting reads %q", text))
}

func (x *examination) realTime() Outcome {
	if err := x.RealTime(); err != nil {
		return limited(
			fmt.Sprintf("not permitted (%v): other programs on the interferer's CPUs can take them from it; what it then lost is reported", err),
			"sudo setcap cap_sys_nice+ep \"$(command -v bandmate)\", or ulimit -r 1, or in a container add the capability SYS_NICE")
	}
	return ok("permitted: with --real-time nothing takes the interferer's CPUs from it")
}

// frequency reads cpufreq (Documentation/admin-guide/pm/cpufreq.rst):
//
//	/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor  performance
//	/sys/devices/system/cpu/cpufreq/boost                  1
//	/sys/devices/system/cpu/intel_pstate/no_turbo          0
func (x *examination) frequency() Outcome {
	var governors []string
	for _, cpu := range x.allowed.List() {
		governor, err := sysfile.Text(x.Sys, fmt.Sprintf("devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu))
		if err == nil {
			governors = append(governors, governor)
		}
	}
	if len(governors) == 0 {
		return inconclusive("this kernel does not control the frequency; a hypervisor or the firmware may change it unseen")
	}
	slices.Sort(governors)
	others := slices.DeleteFunc(slices.Compact(governors), func(g string) bool { return g == "performance" })
	if len(others) > 0 {
		return limited(
			"the governor is "+strings.Join(others, " and ")+": short runs may be timed while the frequency still rises"+x.boost(),
			"sudo cpupower frequency-set -g performance")
	}
	return ok("the governor is performance" + x.boost())
}

func (x *examination) boost() string {
	reads := func(name, value string) bool {
		text, err := sysfile.Text(x.Sys, name)
		return err == nil && text == value
	}
	if reads("devices/system/cpu/cpufreq/boost", "1") || reads("devices/system/cpu/intel_pstate/no_turbo", "0") {
		return "; boost is on, so solo runs are taken beside spinning CPUs to keep the frequency comparable"
	}
	return ""
}

// clock reads /sys/devices/system/clocksource/clocksource0
// (Documentation/ABI/testing/sysfs-devices-clocksource):
//
//	current_clocksource    tsc
//	available_clocksource  tsc hpet acpi_pm
func (x *examination) clock() Outcome {
	const dir = "devices/system/clocksource/clocksource0/"
	current, err := sysfile.Text(x.Sys, dir+"current_clocksource")
	if err != nil {
		return inconclusive(err.Error())
	}
	switch current {
	case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource", "tod":
		return ok(current + ", which is read without entering the kernel")
	}
	remedy := "boot with clocksource=tsc tsc=reliable if the time-stamp counters of all CPUs agree (dmesg | grep -i tsc)"
	available, err := sysfile.Text(x.Sys, dir+"available_clocksource")
	if err == nil && slices.Contains(strings.Fields(available), "tsc") {
		remedy = "echo tsc | sudo tee /sys/" + dir + "current_clocksource"
	}
	return limited(current+", which is read through the kernel or a slow device: pacing and short timings lose precision", remedy)
}

func (x *examination) memory() Outcome {
	node, where := x.placement.MemoryNode, ""
	if node != nil {
		where = fmt.Sprintf("node %d has ", *node)
		if err := x.BindMemory(*node); err != nil {
			remedy := "permit the node (cpuset.mems), or name another one with --memory-node"
			if errors.Is(err, fs.ErrPermission) {
				remedy = "in a container, add the capability SYS_NICE"
			}
			return limited(err.Error()+"; without it nothing is measured beside the interferer, unless --cpus names CPUs of several nodes", remedy)
		}
	}
	available, known := memory.Available(x.Sys, x.Proc, node)
	if !known {
		return inconclusive("/proc/meminfo has no line MemAvailable (Linux 3.14 or later)")
	}
	var options interferer.Options
	assumed := " of assumed size"
	if x.placementErr == nil {
		if bytes, ok := x.machine.LastLevelCacheBytes(x.placement.Interferer); ok {
			options.LastLevelCacheBytes, assumed = bytes, ""
		}
	}
	least, most := options.LeastBufferBytes(), interferer.DefaultMemoryCap(available)
	taken := max(min(options.DefaultBufferBytes(), most), least)
	detail := fmt.Sprintf("%s%s available; the interferer's buffers take %s, %.3g times its last-level cache%s", where, size(available), size(taken), float64(taken)/float64(least), assumed)
	remedy := func(bytes int64) string {
		return fmt.Sprintf("free memory or raise the container's limit, or permit more with --memory-cap %dMiB", (bytes+1<<20-1)>>20)
	}
	switch few := interferer.FewCaches * least; {
	case least > most:
		return limited(fmt.Sprintf("%s, more than the quarter of memory it may take (%s)", detail, size(most)), remedy(least))
	case taken < few:
		return limited(detail+", which may keep some of their lines", remedy(few))
	}
	return ok(detail)
}

func size(bytes int64) string {
	if bytes < 10<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d GiB", bytes>>30)
}

// pageReportingBit is VIRTIO_BALLOON_F_PAGE_REPORTING
// (include/uapi/linux/virtio_balloon.h) in a string of 0 and 1 that starts with
// bit 0.
const pageReportingBit = 5

// memoryBacking looks for a hypervisor that takes free memory back:
//
//	/sys/bus/virtio/drivers/virtio_balloon/virtio0/features
//	01100101000000000000000000000000100000000000000000000000000000000000000
func (x *examination) memoryBacking() Outcome {
	_, err := fs.Stat(x.Sys, "bus")
	if err != nil {
		return inconclusive(err.Error())
	}
	files, err := fs.Glob(x.Sys, "bus/virtio/drivers/virtio_balloon/virtio*/features")
	if err != nil {
		return inconclusive(err.Error())
	}
	for _, name := range files {
		features, err := sysfile.Text(x.Sys, name)
		switch {
		case err != nil:
			return inconclusive(err.Error())
		case len(features) <= pageReportingBit:
			return inconclusive(fmt.Sprintf("/sys/%s reads %q", name, features))
		case features[pageReportingBit] == '1':
			return limited(
				"the hypervisor takes free memory back (free page reporting) and gives it again slowly: a program that takes fresh memory may run much longer now and then; medians and memory kept between runs soften that",
				"switch free page reporting of the balloon device off in the hypervisor, or repeat more often (--repeats)")
		}
	}
	return ok("no hypervisor takes free memory back")
}
