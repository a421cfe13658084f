package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Processor identifies the processor as x86 does (CPUID leaf 1).
type Processor struct {
	// Vendor such as "GenuineIntel"; empty on other architectures.
	Vendor string
	// Family and Model are the extended ones; both 0 on other architectures.
	Family, Model int
}

// maxProcessorBytes holds several processors' blocks of /proc/cpuinfo.
const maxProcessorBytes = 64 << 10

// ReadProcessor reads the first block of /proc/cpuinfo (proc_cpuinfo(5)):
//
//	vendor_id	: GenuineIntel
//	cpu family	: 6
//	model		: 143
//
// On other architectures, and without the file, it is the zero Processor.
func ReadProcessor(proc fs.FS) (Processor, error) {
	data, err := sysfile.ReadStart(proc, "cpuinfo", maxProcessorBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Processor{}, nil
	}
	if err != nil {
		return Processor{}, err
	}
	var p Processor
	for line := range strings.Lines(string(data)) {
		key, value, found := strings.Cut(line, ":")
		if !found && p.Vendor != "" {
			break
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "vendor_id":
			p.Vendor = value
		case "cpu family":
			p.Family, err = strconv.Atoi(value)
		case "model":
			p.Model, err = strconv.Atoi(value)
		}
		if err != nil {
			return Processor{}, fmt.Errorf("/proc/cpuinfo: %w: %q is not a number", sysfile.ErrMalformed, value)
		}
	}
	if !strings.HasPrefix(p.Vendor, "Genuine") && !strings.HasPrefix(p.Vendor, "Authentic") && !strings.HasPrefix(p.Vendor, "Hygon") {
		return Processor{Vendor: p.Vendor}, nil
	}
	return p, nil
}

// Socket reads the physical package of a CPU that is online now. It is for
// CPUs that came online after the topology was read.
func Socket(sys fs.FS, cpu int) (int, error) {
	return sysfile.Int(sys, fmt.Sprintf("devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
}
