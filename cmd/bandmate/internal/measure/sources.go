package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
)

func anySource(profiler.Source) bool { return true }

// measureByCounters counts while a command runs undisturbed, or for a duration.
func measureByCounters(ctx context.Context, a *cli.App, counters cli.Counters, args []string, f measureFlags) (err error) {
	placing, err := f.placement.Placing()
	if err != nil {
		return err
	}
	workload := profiler.Workload{Duration: f.duration, Interval: f.interval}
	if len(args) > 0 {
		command := launch.Command{Args: args, Timeout: f.timeout, Iterations: f.iterations}
		var launcher *launch.Launcher
		if launcher, err = launch.New(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, launcher.Close()) }()
		workload.Run = func(ctx context.Context) error {
			_, err := launcher.Run(ctx, command, placing.Target, placing.MemoryNode)
			return err
		}
	}
	return printMeasured(ctx, a, pmu.WithActivity(counters.Source, counters.Host, f.iterations), workload, f)
}

func printMeasured(ctx context.Context, a *cli.App, source profiler.Source, w profiler.Workload, f measureFlags) error {
	stop := a.CountDown("counting", w.Duration)
	summary, err := source.Measure(ctx, w)
	stop()
	if errors.Is(err, profiler.ErrUnsupported) || errors.Is(err, profiler.ErrInconclusive) {
		return fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	if err != nil {
		return err
	}
	return printSummary(a, summary, summary.Scope.Explain(), f)
}

// measureProcesses counts while processes run that run already. Without counters
// of the memory controllers, those on the side of the cores have to do: the probe
// would have to start the processes itself.
func measureProcesses(ctx context.Context, a *cli.App, f measureFlags) (err error) {
	if f.source == profiler.ProbeName {
		return cli.Usagef("--source probe: it runs the application several times, so it measures no running process: use -- CMD, or another source")
	}
	processes, err := f.scope.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, processes.Close()) }()
	host, err := pmu.OpenHost()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	sources := pmu.Sources(host)
	if f.source != "" && !slices.ContainsFunc(sources, func(s profiler.Source) bool { return s.Name() == f.source }) {
		return cli.Usagef("--source %q: want one of %s", f.source, cli.SourceNames(sources))
	}
	source, err := profiler.Select(ctx, f.source, sources...)
	if err != nil {
		return fmt.Errorf("%w: the memory traffic of running processes needs counters: %w", cli.ErrNotMeasurable, err)
	}
	return printMeasured(ctx, a, pmu.WithActivity(source, host, 1),
		profiler.Workload{Processes: processes, Duration: f.duration, Interval: f.interval}, f)
}

// addSources adds to a report how each way to measure traffic fares here.
func addSources(ctx context.Context, report *doctor.Report) (err error) {
	defer func() { report.Findings = append(report.Findings, probeFinding(report.Measurable)) }()
	host, err := pmu.OpenHost()
	if err != nil {
		report.Findings = append(report.Findings, unreadableSources(err)...)
		return nil
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	states := map[profiler.State]doctor.State{
		profiler.Usable: doctor.OK, profiler.Unsupported: doctor.Missing, profiler.Inconclusive: doctor.Inconclusive,
	}
	for _, s := range pmu.Sources(host) {
		found := s.Available(ctx)
		f := doctor.Finding{
			Name: doctor.SourceName(s.Name()), Title: "Source " + s.Name(),
			Outcome: doctor.Outcome{State: states[found.State], Detail: found.Reason, Remedy: found.Remedy},
		}
		if found.State == profiler.Usable {
			f.Detail = "bandmate measure --source " + s.Name() + " works here"
		}
		report.Findings = append(report.Findings, f)
	}
	return nil
}

// unreadableSources are the findings about counters on a machine that cannot be read.
func unreadableSources(fault error) []doctor.Finding {
	var findings []doctor.Finding
	for _, s := range pmu.Sources(&pmu.Host{}) {
		findings = append(findings, doctor.Finding{
			Name: doctor.SourceName(s.Name()), Title: "Source " + s.Name(),
			Outcome: doctor.Outcome{State: doctor.Missing, Detail: fault.Error()},
		})
	}
	return findings
}

// probeFinding is about the source that takes no counters but a CPU for the
// application and another one for the streams.
func probeFinding(measurable bool) doctor.Finding {
	f := doctor.Finding{
		Name: doctor.SourceName(profiler.ProbeName), Title: "Source " + profiler.ProbeName,
		Outcome: doctor.Outcome{
			State:  doctor.OK,
			Detail: "bandmate measure --source " + profiler.ProbeName + " works here: it infers traffic from how far known streams and the application slow each other, and is calibrated when first used",
		},
	}
	if !measurable {
		f.State, f.Detail = doctor.Missing, "streams cannot run beside an application here, see the findings above"
	}
	return f
}
