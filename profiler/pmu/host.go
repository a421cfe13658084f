package pmu

import (
	"errors"
	"io/fs"

	"bandmate.dev/bandmate/internal/sysfile"
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
		return nil, err
	}
	sys, proc, closeBoth, err := sysfile.OpenHost()
	if err != nil {
		return nil, err
	}
	groups, err := resctrl.NewFileSystem("/sys/fs/resctrl", proc)
	if err != nil {
		return nil, errors.Join(err, closeBoth())
	}
	return &Host{Sys: sys, Proc: proc, Machine: machine, Opener: perf.Kernel{}, Monitoring: groups, close: closeBoth}, nil
}

// Close ends the use of the host.
func (h *Host) Close() error {
	if h.close == nil {
		return nil
	}
	return h.close()
}
