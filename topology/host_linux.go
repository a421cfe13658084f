package topology

import (
	"errors"
	"fmt"

	"github.com/klauspost/cpuid/v2"

	"bandmate.dev/bandmate/internal/sysfile"
)

// ErrUnreadable is wrapped where the kernel does not say what a machine has, as in a
// sandbox that hides sysfs.
var ErrUnreadable = errors.New("the machine cannot be read")

// ReadHost reads the machine this process runs on. Where the firmware does not
// name the hypervisor, the processor is asked (CPUID leaf 0x40000000). The error wraps
// ErrUnreadable.
func ReadHost() (*Machine, error) {
	sys, proc, closeBoth, err := sysfile.OpenHost()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	m, err := Read(sys, proc)
	if err := errors.Join(err, closeBoth()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
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
