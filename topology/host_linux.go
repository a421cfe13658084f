package topology

import (
	"fmt"
	"os"

	"github.com/klauspost/cpuid/v2"
)

// ReadHost reads the machine this process runs on. Where the firmware does not
// name the hypervisor, the processor is asked (CPUID leaf 0x40000000).
func ReadHost() (*Machine, error) {
	sys, err := os.OpenRoot("/sys")
	if err != nil {
		return nil, fmt.Errorf("mount sysfs on /sys: %w", err)
	}
	defer sys.Close()
	proc, err := os.OpenRoot("/proc")
	if err != nil {
		return nil, fmt.Errorf("mount procfs on /proc: %w", err)
	}
	defer proc.Close()
	m, err := Read(sys.FS(), proc.FS())
	if err != nil {
		return nil, err
	}
	if m.VirtualMachine && m.Hypervisor == "" {
		m.Hypervisor = hypervisorName(cpuid.CPU.HypervisorVendorID)
	}
	return m, nil
}

func hypervisorName(id cpuid.Vendor) string {
	switch id {
	case cpuid.VendorUnknown:
		return ""
	case cpuid.MSVM:
		return "Hyper-V"
	case cpuid.XenHVM:
		return "Xen"
	}
	return id.String()
}
