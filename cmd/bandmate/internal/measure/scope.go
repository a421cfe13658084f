package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// scopeFlags name running processes to measure instead of a command.
type scopeFlags struct {
	pid         int
	cgroup, pod string
}

func (f *scopeFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.pid, "pid", 0, "measure this running process and its descendants, until it ends or for --duration")
	flags.StringVar(&f.cgroup, "cgroup", "", "measure the processes of a cgroup: its folder, or the path below "+tasks.CgroupRoot)
	flags.StringVar(&f.pod, "pod", "", "measure the processes of a pod on this machine, by its UID")
}

// chosen reports whether any is named.
func (f scopeFlags) chosen() bool { return f.pid != 0 || f.cgroup != "" || f.pod != "" }

// check refuses what cannot be measured together.
func (f scopeFlags) check(args []string, duration time.Duration) error {
	named := 0
	for _, is := range []bool{f.pid != 0, f.cgroup != "", f.pod != ""} {
		if is {
			named++
		}
	}
	switch {
	case f.pid < 0:
		return cli.Usagef("--pid %d: want the number of a process", f.pid)
	case named > 1:
		return cli.Usagef("want one of --pid, --cgroup and --pod")
	case named == 1 && len(args) > 0:
		return cli.Usagef("--pid, --cgroup and --pod name what runs already: want no command with them")
	case named == 0 && (len(args) == 0) == (duration == 0):
		return cli.Usagef("want either -- CMD, --duration, --pid, --cgroup, --pod or --from")
	}
	return nil
}

// opened are processes that have to be closed.
type opened interface {
	profiler.Processes
	Close() error
}

// open finds the processes.
func (f scopeFlags) open() (opened, error) {
	folder := f.cgroup
	switch {
	case f.pid != 0:
		return tasks.OpenTree(os.DirFS("/proc"), f.pid)
	case f.pod != "":
		below, err := tasks.FindPod(os.DirFS(tasks.CgroupRoot), f.pod)
		if err != nil {
			return nil, fmt.Errorf("--pod: %w", err)
		}
		folder = filepath.FromSlash(below)
	}
	return tasks.OpenCgroup(folder)
}
