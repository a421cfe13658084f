package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability/measure"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/topology"
)

// measureResult is `capability measure -o json`.
type measureResult struct {
	Machine    string              `json:"machine"`
	Capability v1alpha1.Capability `json:"capability"`
	Warnings   []string            `json:"warnings"`
}

// capabilityMeasureFlags are the flags of capability measure.
type capabilityMeasureFlags struct {
	name, memory string
	medians      medianFlags
}

func newCapabilityMeasureCommand(a *cli.App) *cobra.Command {
	var f capabilityMeasureFlags
	cmd := &cobra.Command{
		Use:   "measure",
		Short: "Measure latencies, contention and bandwidths of this machine",
		Long: `Measures what caches and memory of this machine can do, and stores it in the machine
profile, which bandmate machine makes:

  - the latency of a line by the size of what is chased through, by place (each
    cache, memory, memory of other NUMA nodes) and by the state in which another
    core has it: modified, exclusive, shared, invalid;
  - the contention α + β·N of N threads that read one line at once;
  - α + β·n of n lines from the cache of another core;
  - the bandwidth of copy, read, write and triad, with plain and with non-temporal
    stores, by threads and NUMA nodes;
  - the latency of memory beside threads that stream at a quarter, half, three
    quarters and all of what they reach.

Every median is repeated until its 95% interval is within 10%, or until its part of
--budget is spent, and then a warning says so. What takes more CPUs than there are is
left out, with a warning: two for other cores, three for shared lines, four for the
fit of the contention, without which there is no capability tree.`,
		Example: `  bandmate capability measure
  bandmate capability measure --cpus 0-7 --name rack7 --budget 5m -o yaml`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measureCapability(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the machine profile (default: the host's name)")
	flags.StringVar(&f.memory, "memory-size", "", "size of what lies in memory, for example 256MiB (default: eight times the last-level caches, at most 1 GiB and an eighth of the available memory)")
	f.medians.add(flags, 2*time.Minute)
	return cmd
}

func measureCapability(ctx context.Context, a *cli.App, f capabilityMeasureFlags) error {
	name, err := cli.MachineName(f.name)
	if err != nil {
		return err
	}
	folder, profile, err := openMachine(a, name)
	if err != nil {
		return err
	}
	if err := folder.CheckWritable(); err != nil {
		return err
	}
	machine, err := topology.ReadHost()
	if err != nil {
		return err
	}
	options, err := f.options(machine)
	if err != nil {
		return err
	}
	result, err := runMeasurement(ctx, a, machine, options)
	if err != nil {
		return refusedCPU(err)
	}
	if cache, _ := machine.LastLevelCacheBytes(cpuset.New(options.CPUs[0])); options.MemoryBytes < 2*cache {
		result.Warnings = append(result.Warnings, fmt.Sprintf("what lies in memory is %s, and a last-level cache has %s: some of it was found there; free memory, or choose --memory-size",
			report.Bytes(options.MemoryBytes), report.Bytes(cache)))
	}
	if now, err := folder.Machine(name); err == nil { // others may have changed it meanwhile
		profile = now
	}
	result.Capability.Warnings = storable(result.Warnings)
	profile.Spec.Capability = &result.Capability
	if err := folder.Put(profile); err != nil {
		return fmt.Errorf("storing the machine profile: %w", err)
	}
	a.Warn(result.Warnings)
	r := measureResult{name, result.Capability, result.Warnings}
	return a.Print(r, func(w io.Writer) error { return writeMeasured(w, r, a.Canvas()) })
}

// storable returns as many warnings as a profile may hold; the last one counts the
// omitted ones.
func storable(warnings []string) []string {
	if len(warnings) <= v1alpha1.MaxWarnings {
		return warnings
	}
	kept := slices.Clone(warnings[:v1alpha1.MaxWarnings-1])
	return append(kept, fmt.Sprintf("%d more warnings", len(warnings)-len(kept)))
}

// runMeasurement measures, shows progress, and warns where the CPUs were moved
// meanwhile, as hosts do with those of virtual machines.
func runMeasurement(ctx context.Context, a *cli.App, machine *topology.Machine, options measure.Options) (measure.Result, error) {
	before, probed := probePair(ctx, options.CPUs)
	result, err := cli.WithProgress(a, func(progress cli.ProgressFunc) (measure.Result, error) {
		options.Progress = progress
		return measure.Run(ctx, machine, options)
	})
	if err != nil || !probed {
		return result, err
	}
	if after, ok := probePair(ctx, options.CPUs); ok && !after.Same(before) {
		result.Warnings = append(result.Warnings, fmt.Sprintf(
			"CPUs %d and %d were %v before and %v after: they were moved, and latencies between cores mix both; measure again",
			options.CPUs[0], options.CPUs[1], before, after))
	}
	return result, nil
}

// probePair returns how near the first two CPUs are; false where that cannot be
// determined.
func probePair(ctx context.Context, cpus []int) (regime.Tag, bool) {
	if len(cpus) < 2 {
		return regime.Tag{}, false
	}
	tag, err := regime.Probe(ctx, cpus[0], cpus[1])
	return tag, err == nil
}

// refusedCPU distinguishes what this machine refuses from failures.
func refusedCPU(err error) error {
	if errors.Is(err, topology.ErrOffline) || errors.Is(err, topology.ErrNotAllowed) {
		return fmt.Errorf("%w: %w: choose others with --cpus", cli.ErrNotMeasurable, err)
	}
	return err
}

func (f capabilityMeasureFlags) options(machine *topology.Machine) (measure.Options, error) {
	options := measure.Options{Repeats: f.medians.repeats(), Budget: f.medians.budget, Source: "measured by bandmate capability measure, version " + cli.Version()}
	var err error
	if options.CPUs, err = f.medians.on(machine); err != nil {
		return options, err
	}
	if err := withinQuota(options.CPUs); err != nil {
		return options, err
	}
	if options.MemoryBytes, err = cli.ParseBytes("--memory-size", f.memory); err != nil {
		return options, err
	}
	if options.MemoryBytes == 0 {
		available, _ := memory.Available(os.DirFS("/sys"), os.DirFS("/proc"), nil)
		options.MemoryBytes = memorySize(machine, available)
		if options.MemoryBytes < leastMemory {
			return options, fmt.Errorf("%w: %s of memory are available: free memory, or choose --memory-size", cli.ErrNotMeasurable, report.Bytes(available))
		}
	}
	if err := options.Validate(); err != nil {
		return options, cli.UsageError(err)
	}
	return options, nil
}

// leastMemory is far too little to lie in memory rather than in a cache.
const leastMemory = 1 << 20

// memorySize is eight times the last-level caches, from 256 MiB to 1 GiB, and no
// more than an eighth of the available memory, of which a container may have little.
func memorySize(machine *topology.Machine, available int64) int64 {
	const low, high = 256 << 20, 1 << 30
	caches, _ := machine.LastLevelCacheBytes(machine.Online())
	return min(max(8*caches, low), high, available/8)
}
