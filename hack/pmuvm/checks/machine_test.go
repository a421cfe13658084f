package checks

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

// machine is the hardware that a check runs on.
type machine struct {
	pmus    string // as for hack/pmu-vm.sh
	options string
	rates   string
	// processor is what /proc/cpuinfo says; the zero one leaves it to QEMU.
	processor processor
}

type processor struct {
	vendor        string
	family, model int
}

// Processors whose memory controllers are like the personalities of the module.
var (
	skylake        = processor{"GenuineIntel", 6, 85}
	iceLake        = processor{"GenuineIntel", 6, 106}
	sapphireRapids = processor{"GenuineIntel", 6, 143}
	graniteRapids  = processor{"GenuineIntel", 6, 173}
	tigerLake      = processor{"GenuineIntel", 6, 140}
	skylakeClient  = processor{"GenuineIntel", 6, 94}
	zen3           = processor{"AuthenticAMD", 25, 1}
	zen4           = processor{"AuthenticAMD", 25, 17}
)

const (
	cpuInfo     = "/proc/cpuinfo"
	cpuInfoFile = "/tmp/cpuinfo"
	cpus        = 4 // two on each of two nodes
)

// setUp replaces the hardware by m: all CPUs online, kernel settings as after
// boot, and new PMUs that have counted nothing.
func (m machine) setUp() error {
	if err := fakepmu.Unload(); err != nil {
		return err
	}
	faults := []error{fakepmu.SetParanoid(2), m.processor.install()}
	for cpu := 1; cpu < cpus; cpu++ {
		faults = append(faults, fakepmu.SetOnline(cpu, true))
	}
	rates, err := fakepmu.ParseLines(m.rates)
	if err := errors.Join(append(faults, err)...); err != nil {
		return err
	}
	if m.pmus == "" {
		return nil
	}
	return errors.Join(fakepmu.Load(m.pmus, m.options), fakepmu.SetRates(rates))
}

// install makes the kernel's description of the processors say p.
func (p processor) install() error {
	if err := unix.Unmount(cpuInfo, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount %s: %w", cpuInfo, err)
	}
	if p == (processor{}) {
		return nil
	}
	var text []byte
	for cpu := range cpus {
		text = fmt.Appendf(text, "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: pretend\nflags\t\t: fpu\n\n",
			cpu, p.vendor, p.family, p.model)
	}
	if err := os.WriteFile(cpuInfoFile, text, 0o644); err != nil {
		return err
	}
	if err := unix.Mount(cpuInfoFile, cpuInfo, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount on %s: %w", cpuInfo, err)
	}
	return nil
}

// on returns a check's run that sets up m first.
func (m machine) on(run func() error) func() error {
	return func() error {
		if err := m.setUp(); err != nil {
			return fmt.Errorf("set-up: %w", err)
		}
		return run()
	}
}
