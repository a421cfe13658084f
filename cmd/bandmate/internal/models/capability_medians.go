package models

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/capability/measure"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/topology"
)

// medianFlags are the flags of what repeats medians on chosen CPUs until they are
// settled.
type medianFlags struct {
	cpus   string
	least  int
	budget time.Duration
}

func (f *medianFlags) add(flags *pflag.FlagSet, budget time.Duration) {
	flags.StringVar(&f.cpus, "cpus", "", "CPUs to measure on, for example 0-3,8 (default: one of each core that may be used)")
	flags.IntVar(&f.least, "repeats", 11, "minimum number of repeats of each value")
	flags.DurationVar(&f.budget, "budget", budget, "total time, within which medians are repeated until they converge")
}

// repeats bounds the repeats of each value. The budget ends most of them earlier.
func (f *medianFlags) repeats() measure.Repeats {
	return measure.Repeats{Least: f.least, Most: max(f.least, 200)}
}

// withinQuota returns an error that wraps topology.ErrQuota where a CPU quota would stop threads
// that work on all of the CPUs.
func withinQuota(cpus []int) error {
	quota, err := topology.OwnQuota()
	used := cpuset.New(cpus...)
	return errors.Join(err, quota.Check(used, used))
}

// on returns the CPUs that were given, or else the first one of every core that may
// be used.
func (f *medianFlags) on(machine *topology.Machine) ([]int, error) {
	given, err := cli.ParseCPUs("--cpus", f.cpus)
	if err != nil || !given.IsEmpty() {
		return given.List(), err
	}
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		return nil, err
	}
	var cpus []int
	seen := map[int]bool{}
	for _, c := range machine.CPUs {
		if allowed.Contains(c.ID) && !seen[c.Core] {
			seen[c.Core] = true
			cpus = append(cpus, c.ID)
		}
	}
	return cpus, nil
}
