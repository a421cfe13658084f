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

// ReadProcessor reads the processor of cpuinfo in procfs. On other architectures
// than x86, and without the file, all but the vendor is zero.
func ReadProcessor(proc fs.FS) (Processor, error) {
	info, err := sysfile.CPUInfo(proc)
	if err != nil {
		return Processor{}, err
	}
	p := Processor{Vendor: info["vendor_id"]}
	if !strings.HasPrefix(p.Vendor, "Genuine") && !strings.HasPrefix(p.Vendor, "Authentic") && !strings.HasPrefix(p.Vendor, "Hygon") {
		return p, nil
	}
	family, familyErr := strconv.Atoi(info["cpu family"])
	model, modelErr := strconv.Atoi(info["model"])
	if err := errors.Join(familyErr, modelErr); err != nil {
		return Processor{}, fmt.Errorf("/proc/cpuinfo: %w: %w", sysfile.ErrMalformed, err)
	}
	p.Family, p.Model = family, model
	return p, nil
}

// Socket reads the physical package of a CPU that is online now. It is for
// CPUs that came online after the topology was read.
func Socket(sys fs.FS, cpu int) (int, error) {
	return sysfile.Int(sys, fmt.Sprintf("devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
}
