package sysfile

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// maxCPUInfo holds several processors' blocks of /proc/cpuinfo.
const maxCPUInfo = 64 << 10

// CPUInfo reads the first processor's lines of cpuinfo in procfs
// (proc_cpuinfo(5)) by their keys; none where there is no such file. On x86:
//
//	processor	: 0
//	vendor_id	: GenuineIntel
//	cpu family	: 6
//	model		: 143
//	model name	: Intel(R) Xeon(R) Gold 6430
//	flags		: fpu vme … hypervisor …
//
// and on Arm, where there is no model name:
//
//	processor	: 0
//	CPU implementer	: 0x41
//	CPU part	: 0xd4f
func CPUInfo(proc fs.FS) (map[string]string, error) {
	data, err := ReadStart(proc, "cpuinfo", maxCPUInfo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, found := strings.Cut(line, ":")
		if !found && len(info) > 0 {
			break
		}
		if found {
			info[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return info, nil
}

// MemInfo reads meminfo, that of procfs or that of a NUMA node in sysfs, as bytes
// by name. Both give kibibytes although they write kB:
//
//	MemAvailable:   23976444 kB
//	Node 0 MemFree:          4673640 kB
func MemInfo(fsys fs.FS, name string) (map[string]int64, error) {
	text, err := Text(fsys, name)
	if err != nil {
		return nil, err
	}
	values := make(map[string]int64)
	for line := range strings.Lines(text) {
		label, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(label)
		number, isKiB := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		kib, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && isKiB && len(words) > 0 && kib >= 0 && kib <= math.MaxInt64>>10 {
			values[words[len(words)-1]] = kib << 10
		}
	}
	return values, nil
}
