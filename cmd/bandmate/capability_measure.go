package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/measure"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// measureResult is `capability measure -o json`.
type measureResult struct {
	Machine    string              `json:"machine"`
	Capability v1alpha1.Capability `json:"capability"`
	Warnings   []string            `json:"warnings"`
}

// capabilityMeasureFlags are the flags of capability measure.
type capabilityMeasureFlags struct {
	name, cpus, memory string
	repeats            measure.Repeats
}

func newCapabilityMeasureCommand(a *app) *cobra.Command {
	var f capabilityMeasureFlags
	cmd := &cobra.Command{
		Use:   "measure",
		Short: "Measure latencies and bandwidths of this machine",
		Long: `Measures the latency of a cache line by place (pointer chase; lines that another core
has modified) and the bandwidth of copy, read, write and triad by threads, and stores
them in the machine profile, which bandmate machine makes. Every median is repeated
until its 95% interval is within 10%, or a warning says that it is not.

Contention of several readers of one line is not measured yet: the profile serves
capability barrier and sort, not tree.`,
		Example: `  bandmate capability measure
  bandmate capability measure --cpus 0-7 --name rack7 -o yaml`,
		Args: wantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkFormat(); err != nil {
				return err
			}
			return a.measureCapability(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the machine profile (default: the host's name)")
	flags.StringVar(&f.cpus, "cpus", "", "CPUs to measure on, as 0-3,8 (default: one of each core that may be used)")
	flags.StringVar(&f.memory, "memory-size", "", "size of what lies in memory, as 256MiB (default: eight times the last-level caches, at most 1 GiB)")
	flags.IntVar(&f.repeats.Least, "repeats", 11, "fewest repeats of each value")
	flags.IntVar(&f.repeats.Most, "max-repeats", 200, "most repeats of each value")
	return cmd
}

func (a *app) measureCapability(ctx context.Context, f capabilityMeasureFlags) error {
	name, err := machineName(f.name)
	if err != nil {
		return err
	}
	folder, err := a.open()
	if err != nil {
		return err
	}
	profile, err := folder.Machine(name)
	if err != nil {
		return fmt.Errorf("%w; measure the machine itself first: bandmate machine --name %s", err, name)
	}
	if err := checkWritable(folder); err != nil {
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
	options.Progress = func(what string) { a.tell(what) }
	result, err := measure.Run(ctx, machine, options)
	if err != nil {
		return refusedCPU(err)
	}
	profile.Spec.Capability = &result.Capability
	if err := folder.Put(profile); err != nil {
		return fmt.Errorf("storing the machine profile: %w", err)
	}
	a.warn(result.Warnings)
	r := measureResult{name, result.Capability, result.Warnings}
	return a.print(r, func(w io.Writer) error { return writeMeasured(w, r, a.canvas()) })
}

// refusedCPU tells what this machine refuses from what failed.
func refusedCPU(err error) error {
	if errors.Is(err, topology.ErrOffline) || errors.Is(err, topology.ErrNotAllowed) {
		return fmt.Errorf("%w: %w: choose others with --cpus", errNotMeasurable, err)
	}
	return err
}

func (f capabilityMeasureFlags) options(machine *topology.Machine) (measure.Options, error) {
	options := measure.Options{Repeats: f.repeats, Source: "measured by bandmate capability measure, version " + version()}
	cpus, err := parseCPUs("--cpus", f.cpus)
	if err != nil {
		return options, err
	}
	if options.CPUs = cpus.List(); len(options.CPUs) == 0 {
		if options.CPUs, err = oneOfEachCore(machine); err != nil {
			return options, err
		}
	}
	if options.MemoryBytes, err = parseBytes("--memory-size", f.memory); err != nil {
		return options, err
	}
	if options.MemoryBytes == 0 {
		options.MemoryBytes = memorySize(machine)
	}
	if err := options.Validate(); err != nil {
		return options, usageError{err}
	}
	return options, nil
}

// oneOfEachCore returns the first CPU of every core that may be used.
func oneOfEachCore(machine *topology.Machine) ([]int, error) {
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

// memorySize is eight times the last-level caches, from 256 MiB to 1 GiB.
func memorySize(machine *topology.Machine) int64 {
	const low, high = 256 << 20, 1 << 30
	caches, _ := machine.LastLevelCacheBytes(machine.Online())
	return min(max(8*caches, low), high)
}

func writeMeasured(w io.Writer, r measureResult, o report.Options) error {
	fmt.Fprintf(w, "machine    %s\n\n", r.Machine)
	within := func(interval *float64, repeats int) []report.Cell {
		if interval == nil {
			return []report.Cell{report.Text(report.Missing), report.Text(report.Missing)}
		}
		return []report.Cell{
			report.Number(fmt.Sprintf("±%.1f%%", 100**interval), *interval),
			report.Number(fmt.Sprint(repeats), float64(repeats)),
		}
	}
	more := []report.Column{{Title: "95% interval", Numeric: true}, {Title: "repeats", Numeric: true}}
	latencies := report.Table{Columns: append([]report.Column{{Title: "line in"}, {Title: "state"}, {Title: "latency", Numeric: true}}, more...)}
	for _, l := range r.Capability.Latencies {
		latencies.Add(append([]report.Cell{report.Text(l.Place), report.Text(l.State), report.Number(capability.Cost(l.Nanoseconds).String(), l.Nanoseconds)},
			within(l.RelativeInterval, l.Repeats)...)...)
	}
	if err := latencies.Write(w, o); err != nil {
		return err
	}
	fmt.Fprintln(w)
	bandwidths := report.Table{Columns: append([]report.Column{
		{Title: "access"},
		{Title: "stores"},
		{Title: "threads", Numeric: true},
		{Title: "bandwidth", Numeric: true},
	}, more...)}
	for _, b := range r.Capability.Bandwidths {
		stores := "plain"
		switch {
		case b.Access == "read":
			stores = report.Missing
		case b.NonTemporal:
			stores = "non-temporal"
		}
		bandwidths.Add(append([]report.Cell{
			report.Text(b.Access), report.Text(stores), report.Number(fmt.Sprint(b.Threads), float64(b.Threads)),
			report.Number(report.Bandwidth(units.Bandwidth(b.BytesPerSecond)), b.BytesPerSecond),
		}, within(b.RelativeInterval, b.Repeats)...)...)
	}
	return bandwidths.Write(w, o)
}
