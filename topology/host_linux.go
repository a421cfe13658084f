package topology

import (
	"errors"
	"fmt"
	"os"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"
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

// AllowedCPUs returns the CPUs the calling thread may run on: its affinity
// mask, which a cgroup's cpuset narrows too (sched_getaffinity(2)).
func AllowedCPUs() (cpuset.CPUSet, error) {
	mask := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, mask); err != nil {
		if errors.Is(err, unix.EPERM) {
			return cpuset.CPUSet{}, fmt.Errorf("reading the CPU affinity: the sandbox forbids sched_getaffinity; allow it in the seccomp profile: %w", err)
		}
		return cpuset.CPUSet{}, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	var ids []int
	for id := range maxCPUs {
		if mask.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...), nil
}
