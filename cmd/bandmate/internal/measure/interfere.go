package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// interfereResult is `interfere -o json`.
type interfereResult struct {
	Seconds             float64          `json:"seconds"`
	ReadBytesPerSecond  units.Bandwidth  `json:"readBytesPerSecond"`
	WriteBytesPerSecond units.Bandwidth  `json:"writeBytesPerSecond"`
	ReadShare           *units.ReadShare `json:"readShare,omitempty"`
	Target              interfereTarget  `json:"target"`
	WorkingSet          *workingSet      `json:"workingSet,omitempty"`
	LostShare           float64          `json:"lostShare"`
	Variation           *float64         `json:"windowVariation,omitempty"`
	Warnings            []string         `json:"warnings"`
}

// interfereTarget is what was asked for; no bandwidth means unpaced.
type interfereTarget struct {
	BytesPerSecond *units.Bandwidth `json:"bytesPerSecond,omitempty"`
	ReadShare      units.ReadShare  `json:"readShare"`
}

type interfereFlags struct {
	bandwidth, readShare, pattern, cpus, memoryCap, footprint string
	inFlight, memoryNode                                      int
	duration, window                                          time.Duration
	realTime, allCPUs                                         bool
}

// NewInterfere returns the command interfere.
func NewInterfere(a *cli.App) *cobra.Command {
	var f interfereFlags
	cmd := &cobra.Command{
		Use:   "interfere",
		Short: "Make memory traffic of a chosen bandwidth and read share",
		Long: `Makes synthetic memory traffic, paced in closed loop, and reports what it
reached. Bandwidth is what the memory controller sees: reads plus writes, where
a modified line costs a read and a write.

With --footprint it keeps a working set in the caches instead, by loading its
lines in random order as fast as it can. From the time of its own accesses it
tells how much of the working set it holds. It first times accesses that all hit
the cache, so start it before the neighbors.`,
		Example: `  bandmate interfere --bandwidth 12GB/s --read-share 75% --duration 10s
  bandmate interfere --bandwidth 50% --read-share 50% --cpus 1 --duration 5s -o json
  bandmate interfere --bandwidth 100% --duration 2s
  bandmate interfere --footprint 8MiB --duration 5s`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runInterfere(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.bandwidth, "bandwidth", "100%", "a quantity, for example 12GB/s, or a share of the sustained maximum, for example 50%; 100% is unpaced")
	flags.StringVar(&f.readShare, "read-share", "100%", "reads ÷ (reads + writes) at the memory controller")
	flags.StringVar(&f.pattern, "pattern", string(interferer.Sequential), "order of cache lines: sequential or random")
	flags.IntVar(&f.inFlight, "in-flight", 0, "random lines in flight per CPU, 1 to 16; 0: as many as it can")
	flags.StringVar(&f.footprint, "footprint", "", "keep a working set of this size in the caches, for example 8MiB")
	flags.StringVar(&f.cpus, "cpus", "", "CPUs to use, for example 1 or 4-7 (default: the last one allowed)")
	flags.IntVar(&f.memoryNode, "memory-node", -1, "NUMA node of the buffers (default: local)")
	flags.StringVar(&f.memoryCap, "memory-cap", "", "maximum memory to use, for example 2GiB (default: a quarter of what is available)")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to run")
	flags.DurationVar(&f.window, "window", time.Second, "interval of the progress lines on standard error")
	flags.BoolVar(&f.realTime, "real-time", false, "run at real-time priority")
	flags.BoolVar(&f.allCPUs, "all-cpus", false, "allow occupying every CPU")
	return cmd
}

// setting reads the traffic that is asked for, and the part of the sustained
// bandwidth when it is given as a share (0 when it is not).
func (f interfereFlags) setting() (s interferer.Setting, part float64, err error) {
	s = interferer.Setting{Mode: interferer.Stream}
	if s.ReadShare, err = units.ParseReadShare(f.readShare); err != nil {
		return s, 0, cli.Usagef("--read-share: %w", err)
	}
	if s.Pattern, err = cli.ParsePattern("--pattern", f.pattern); err != nil {
		return s, 0, err
	}
	switch {
	case s.Pattern == interferer.Random:
		s.InFlight = f.inFlight
	case f.inFlight != 0 && f.footprint == "":
		return s, 0, cli.Usagef("--in-flight %d: a stream has no lines in flight that can be set: add --pattern random, or --footprint", f.inFlight)
	}
	if strings.HasSuffix(strings.TrimSpace(f.bandwidth), "%") {
		if part, err = units.ParseShare(f.bandwidth); err != nil || part == 0 {
			return s, 0, cli.Usagef("--bandwidth %q: want a share above 0%% up to 100%%", f.bandwidth)
		}
	} else {
		if s.Bandwidth, err = units.ParseBandwidth(f.bandwidth); err != nil || s.Bandwidth == 0 {
			return s, 0, cli.Usagef("--bandwidth %q: want a quantity above zero with its unit, such as 12GB/s, or a share such as 50%%", f.bandwidth)
		}
	}
	if err := s.Validate(); err != nil {
		return s, 0, cli.UsageError(err)
	}
	return s, part, nil
}

func (f interfereFlags) options() (interferer.Options, error) {
	cpus, err := cli.ParseCPUs("--cpus", f.cpus)
	if err != nil {
		return interferer.Options{}, err
	}
	limit, err := cli.ParseBytes("--memory-cap", f.memoryCap)
	if err != nil {
		return interferer.Options{}, err
	}
	machine, err := topology.ReadHost()
	if err != nil {
		return interferer.Options{}, err
	}
	if cpus.IsEmpty() {
		allowed, err := topology.AllowedCPUs()
		if err != nil {
			return interferer.Options{}, err
		}
		list := allowed.List()
		if cpus, err = topology.ParseCPUs(fmt.Sprint(list[len(list)-1])); err != nil {
			return interferer.Options{}, err
		}
	}
	o := interferer.Options{
		CPUs: cpus, MemoryNode: cli.OptionalNode(f.memoryNode), MemoryCap: limit, RealTime: f.realTime,
		AllowAllCPUs: f.allCPUs, MaxDuration: f.duration + time.Minute,
	}
	if bytes, ok := machine.LastLevelCacheBytes(cpus); ok {
		o.LastLevelCacheBytes = bytes
	}
	if err := o.Validate(); err != nil {
		return o, cli.UsageError(err)
	}
	return o, nil
}

// quotaWarnings warns where a CPU quota stops an interferer on some CPUs again and again.
func quotaWarnings(cpus cpuset.CPUSet) []string {
	quota, err := topology.OwnQuota()
	if err != nil || quota.Suffices(cpus.Size(), cpus) {
		return nil
	}
	return []string{fmt.Sprintf("%v, and CPUs %s make traffic all the time: the kernel stops them again and again, so that the traffic comes in bursts and its rate is a mean: %s",
		quota, cpus, quota.Remedy())}
}

// sustainedWindow is how long the sustained maximum is measured before a
// bandwidth that is given as a share of it.
const sustainedWindow = 300 * time.Millisecond

func runInterfere(ctx context.Context, a *cli.App, f interfereFlags) error {
	if err := cli.CheckDuration("--duration", f.duration); err != nil {
		return err
	}
	setting, part, err := f.setting()
	if err != nil {
		return err
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	if f.footprint != "" {
		return f.keepWorkingSet(ctx, a, options)
	}
	if part > 0 && part < 1 {
		top, err := interferer.Run(ctx, options, setting, sustainedWindow, 0, nil)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		setting.Bandwidth = top.Traffic.Total() * units.Bandwidth(part)
	}
	achieved, err := interferer.Run(ctx, options, setting, f.duration, f.window, func(w interferer.Achieved) { interfereWindow(a, w) })
	if ctx.Err() != nil && achieved.Elapsed == 0 {
		return ctx.Err()
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	achieved.Warnings = append(achieved.Warnings, quotaWarnings(options.CPUs)...)
	// Interrupted, it tells what was reached until then.
	return errors.Join(a.Print(interfereReport(setting, achieved), func(w io.Writer) error {
		a.Warn(achieved.Warnings)
		return writeInterfere(w, setting, achieved)
	}), ctx.Err())
}

// interfereWindow shows how it goes, while it runs.
func interfereWindow(a *cli.App, w interferer.Achieved) {
	if a.Quiet {
		return
	}
	fmt.Fprintf(a.Stderr, "%s\n", achievedLine(w))
}

func achievedLine(w interferer.Achieved) string {
	line := w.Traffic.Total().String()
	if share, ok := w.Traffic.ReadShare(); ok {
		line += ", " + report.ReadShare(share)
	}
	if w.LostShare > 0.001 {
		line += fmt.Sprintf(", %s of the time lost to others", units.ReadShare(w.LostShare))
	}
	return line
}

func interfereReport(s interferer.Setting, w interferer.Achieved) interfereResult {
	r := interfereResult{
		Seconds:             w.Elapsed.Seconds(),
		ReadBytesPerSecond:  w.Traffic.Read,
		WriteBytesPerSecond: w.Traffic.Write,
		Target:              interfereTarget{ReadShare: s.ReadShare},
		LostShare:           w.LostShare,
		Warnings:            w.Warnings,
	}
	if share, ok := w.Traffic.ReadShare(); ok {
		r.ReadShare = &share
	}
	if s.Bandwidth > 0 {
		r.Target.BytesPerSecond = &s.Bandwidth
	}
	if w.Variation > 0 {
		r.Variation = &w.Variation
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r
}

func writeInterfere(w io.Writer, s interferer.Setting, achieved interferer.Achieved) error {
	asked := "unpaced"
	if s.Bandwidth > 0 {
		asked = "asked for " + s.Bandwidth.String()
	}
	_, err := fmt.Fprintf(w, "%s for %s (%s, %s)\n",
		achievedLine(achieved), report.Duration(achieved.Elapsed), asked, report.ReadShare(s.ReadShare))
	return err
}
