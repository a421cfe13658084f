// Package measure has the commands that measure this machine and applications.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
)

type measureFlags struct {
	placement  cli.PlacementFlags
	precision  cli.PrecisionFlags
	imported   importFlags
	scope      scopeFlags
	source     string
	machine    string
	duration   time.Duration
	interval   time.Duration
	timeout    time.Duration
	iterations int
	pictures   cli.PictureFlags
}

// NewMeasure returns the command measure.
func NewMeasure(a *cli.App) *cobra.Command {
	var f measureFlags
	cmd := &cobra.Command{
		Use:   "measure [-- CMD...]",
		Short: "Measure bandwidth and read share of a command or the machine",
		Long: `Measures the memory traffic of CMD, of a running process with its descendants,
of a cgroup or pod, or of everything on the machine for --duration.

Counters of the memory controllers see the whole machine: beside a command or
processes their result includes what else runs, and says so. The sources resctrl
and llc-miss see the command or the processes alone, but not whether they read or
write. The probe source needs no counters: it runs CMD beside unpaced memory
streams and infers the traffic that explains how much each slows the other. Its
result is an estimate and says so.

Of a command or processes the result also holds CPU time, instructions and
context switches, as far as the kernel counts them.`,
		Example: `  bandmate measure -- xz -9 -k -c big.tar
  bandmate measure --duration 5s -o json
  bandmate measure --pid 4242 --duration 10s --source resctrl
  bandmate measure --cgroup kubepods.slice/kubepods-burstable.slice --duration 10s
  bandmate measure --from xz.perf
  bandmate measure --duration 10s --interval 100ms --svg traffic.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || (dash < 0 && len(args) > 0) {
				return cli.Usagef("put the command after --")
			}
			if err := f.imported.checkAlone(args, f.duration, f.source); err != nil {
				return err
			}
			if f.imported.from != "" {
				if f.scope.chosen() {
					return cli.Usagef("--from imports a measurement: want no --pid, --cgroup or --pod with it")
				}
				return nil
			}
			return f.scope.check(args, f.duration)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.imported.from != "" {
				return measureFrom(cmd.Context(), a, cmd.InOrStdin(), f)
			}
			return runMeasure(cmd.Context(), a, args, f)
		},
	}
	flags := cmd.Flags()
	f.placement.Add(flags)
	f.precision.Add(flags)
	f.imported.add(flags)
	f.scope.add(flags)
	flags.StringVar(&f.source, "source", "", "how to measure: probe, or counters such as imc or amd-umc (default: the best that works here)")
	flags.DurationVar(&f.interval, "interval", 0, "length of a sample of the time line, with counters (default: 100ms)")
	flags.StringVar(&f.machine, "machine", "", "name of the machine profile (default: the host's name; measured first when missing)")
	flags.DurationVar(&f.duration, "duration", 0, "measure the whole machine for this long instead of a command, or processes for at most this long")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "maximum time of one run of CMD")
	flags.IntVar(&f.iterations, "iterations", 1, "run CMD this many times in a row per sample, when it is too short to time")
	f.pictures.Add(flags, "the time line")
	return cmd
}

// measureAttempts is how often a measurement follows CPUs that move.
const measureAttempts = 3

func runMeasure(ctx context.Context, a *cli.App, args []string, f measureFlags) (err error) {
	if f.duration < 0 {
		return cli.CheckDuration("--duration", f.duration)
	}
	if f.interval < 0 {
		return cli.CheckDuration("--interval", f.interval)
	}
	if err := f.pictures.Check(); err != nil {
		return err
	}
	if f.scope.chosen() {
		return measureProcesses(ctx, a, f)
	}
	if len(args) > 0 {
		if err := (launch.Command{Args: args}).Check(); err != nil {
			return err
		}
	}
	counters, err := cli.OpenCounters(ctx, f.source, anySource)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counters.Close()) }()
	if counters.Source != nil {
		return measureByCounters(ctx, a, counters, args, f)
	}
	return measureWithProbes(ctx, a, args, f)
}

func measureWithProbes(ctx context.Context, a *cli.App, args []string, f measureFlags) (err error) {
	precision, err := f.precision.Precision()
	if err != nil {
		return err
	}
	name, err := cli.MachineName(f.machine)
	if err != nil {
		return err
	}
	placing, err := f.placement.Placing()
	if err != nil {
		return err
	}
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	session, err := bench.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for attempt := 0; ; attempt++ {
		machine, class, err := calibratedMachine(ctx, a, session, folder, name)
		if err != nil {
			return err
		}
		runner := &onboard.ProbeRunner{Session: session, Machine: machine, Precision: precision, Class: class}
		summary, err := measureByProbe(ctx, a, runner, args, f)
		if attempt < measureAttempts && errors.Is(err, sampling.ErrRegimeLeft) {
			a.Notef("The CPUs moved; measuring again where they are now.\n")
			continue
		}
		if err != nil {
			return err
		}
		return printSummary(a, summary, fmt.Sprintf("%s placement", runner.Class), f)
	}
}

func printSummary(a *cli.App, summary profiler.Summary, where string, f measureFlags) error {
	if err := printTimed(a, summary, summary.Timeline, f, func(w io.Writer) error { return writeSummary(w, summary, where) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(summary.Warnings)
	}
	return nil
}

func measureByProbe(ctx context.Context, a *cli.App, runner *onboard.ProbeRunner, args []string, f measureFlags) (profiler.Summary, error) {
	probes, err := onboard.ProbeMap(runner.Machine, runner.Class)
	if err != nil {
		return profiler.Summary{}, err
	}
	progress := a.NewProgress()
	defer progress.Done()
	runner.Reporter = progress
	workload := profiler.Workload{Duration: f.duration}
	if len(args) > 0 {
		runner.Command = &launch.Command{Args: args, Timeout: f.timeout, Iterations: f.iterations}
		workload.Run = func(ctx context.Context) error { return runner.Once(ctx) }
	}
	source, err := profiler.Select(ctx, profiler.ProbeName, &profiler.Probe{Map: probes, Runner: runner, Node: runner.Session.Placement.MemoryNode})
	if err != nil {
		return profiler.Summary{}, fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	host, err := pmu.OpenHost()
	if err != nil {
		return profiler.Summary{}, err
	}
	summary, err := pmu.WithActivity(source, host, f.iterations).Measure(ctx, workload)
	return summary, errors.Join(err, host.Close())
}
