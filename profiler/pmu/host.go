package pmu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/resctrl"
	"bandmate.dev/bandmate/topology"
)

// Host is how sources reach a machine. [OpenHost] fills it for the one this
// process runs on; tests fill it with fakes.
type Host struct {
	// Sys and Proc are the roots of sysfs and procfs.
	Sys, Proc fs.FS
	// Machine says where CPUs are.
	Machine *topology.Machine
	// Opener opens counters.
	Opener perf.Opener
	// Monitoring makes resctrl's groups; nil where there are none.
	Monitoring resctrl.Groups

	close func() error
}

// OpenHost reads the machine this process runs on. Close the host when done.
func OpenHost() (*Host, error) {
	machine, err := topology.ReadHost()
	if err != nil {
		return nil, fmt.Errorf("reading the machine: %w", err)
	}
	sys, err := os.OpenRoot("/sys")
	if err != nil {
		return nil, fmt.Errorf("mount sysfs on /sys: %w", err)
	}
	proc, err := os.OpenRoot("/proc")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mount procfs on /proc: %w", err), sys.Close())
	}
	groups, err := resctrl.NewFileSystem("/sys/fs/resctrl", proc.FS())
	if err != nil {
		return nil, errors.Join(err, sys.Close(), proc.Close())
	}
	return &Host{
		Sys: sys.FS(), Proc: proc.FS(), Machine: machine, Opener: perf.Kernel{}, Monitoring: groups,
		close: func() error { return errors.Join(sys.Close(), proc.Close()) },
	}, nil
}

// Close ends the use of the host.
func (h *Host) Close() error {
	if h.close == nil {
		return nil
	}
	return h.close()
}
