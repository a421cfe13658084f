package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
)

// openedCounters is a counter source with the machine it reads.
type openedCounters struct {
	host *pmu.Host
	// source is nil when the probe is to measure.
	source profiler.Source
}

func (c openedCounters) close() error {
	if c.host == nil {
		return nil
	}
	return c.host.Close()
}

// openCounters chooses a source by its name. Without a name it takes the best
// counters of the memory controllers that work, else the probe: what counters in
// the cores see is less than what the probe infers. suitable may rule sources
// out of that choice.
func (a *app) openCounters(ctx context.Context, name string, suitable func(profiler.Source) bool) (openedCounters, error) {
	if name == profiler.ProbeName {
		return openedCounters{}, nil
	}
	host, err := pmu.OpenHost()
	if err != nil {
		return openedCounters{}, err
	}
	if name == "" {
		unsuitable := func(s profiler.Source) bool { return !suitable(s) }
		source, err := profiler.Select(ctx, "", slices.DeleteFunc(pmu.MemoryControllers(host), unsuitable)...)
		if err != nil {
			return openedCounters{}, host.Close()
		}
		return openedCounters{host, source}, nil
	}
	sources := pmu.Sources(host)
	if !slices.ContainsFunc(sources, func(s profiler.Source) bool { return s.Name() == name }) {
		return openedCounters{}, errors.Join(usagef("--source %q: want one of %s", name, sourceNames(sources)), host.Close())
	}
	source, err := profiler.Select(ctx, name, sources...)
	if err != nil {
		return openedCounters{}, errors.Join(fmt.Errorf("%w: %w", errNotMeasurable, err), host.Close())
	}
	return openedCounters{host, source}, nil
}

func anySource(profiler.Source) bool { return true }

func sourceNames(sources []profiler.Source) string {
	names := []string{profiler.ProbeName}
	for _, s := range sources {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}

// measureByCounters counts while a command runs undisturbed, or for a duration.
func (a *app) measureByCounters(ctx context.Context, counters openedCounters, args []string, f measureFlags) error {
	placing, err := f.placement.placing()
	if err != nil {
		return err
	}
	workload := profiler.Workload{Duration: f.duration, Interval: f.interval}
	if len(args) > 0 {
		command := onboard.Command{Args: args, Timeout: f.timeout, Iterations: f.iterations}
		workload.Run = func(ctx context.Context) error {
			return onboard.RunCommand(ctx, command, placing.Target, placing.MemoryNode)
		}
	}
	return a.printMeasured(ctx, pmu.WithActivity(counters.source, counters.host, f.iterations), workload, f)
}

func (a *app) printMeasured(ctx context.Context, source profiler.Source, w profiler.Workload, f measureFlags) error {
	stop := a.countDown("counting", w.Duration)
	summary, err := source.Measure(ctx, w)
	stop()
	if errors.Is(err, profiler.ErrUnsupported) || errors.Is(err, profiler.ErrInconclusive) {
		return fmt.Errorf("%w: %w", errNotMeasurable, err)
	}
	if err != nil {
		return err
	}
	return a.printSummary(summary, summary.Scope.Explain(), f)
}

// measureProcesses counts while processes run that run already. Without counters
// of the memory controllers, those on the side of the cores have to do: the probe
// would have to start the processes itself.
func (a *app) measureProcesses(ctx context.Context, f measureFlags) (err error) {
	if f.source == profiler.ProbeName {
		return usagef("--source probe: it runs the application several times, so it measures no running process: use -- CMD, or another source")
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
		return usagef("--source %q: want one of %s", f.source, sourceNames(sources))
	}
	source, err := profiler.Select(ctx, f.source, sources...)
	if err != nil {
		return fmt.Errorf("%w: the memory traffic of running processes needs counters: %w", errNotMeasurable, err)
	}
	return a.printMeasured(ctx, pmu.WithActivity(source, host, 1),
		profiler.Workload{Processes: processes, Duration: f.duration, Interval: f.interval}, f)
}

// addSources adds to a report how each way to measure traffic fares here.
func addSources(ctx context.Context, report *doctor.Report) (err error) {
	host, err := pmu.OpenHost()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	states := map[profiler.State]doctor.State{
		profiler.Usable: doctor.OK, profiler.Unsupported: doctor.Missing, profiler.Inconclusive: doctor.Inconclusive,
	}
	for _, s := range pmu.Sources(host) {
		found := s.Available(ctx)
		f := doctor.Finding{
			Name: "source-" + s.Name(), Title: "Source " + s.Name(),
			State: states[found.State], Detail: found.Reason, Remedy: found.Remedy,
		}
		if found.State == profiler.Usable {
			f.Detail = "bandmate measure --source " + s.Name() + " works here"
		}
		report.Findings = append(report.Findings, f)
	}
	report.Findings = append(report.Findings, probeFinding(report.Measurable))
	return nil
}

// probeFinding is about the source that takes no counters but a CPU for the
// application and another one for the streams.
func probeFinding(measurable bool) doctor.Finding {
	f := doctor.Finding{
		Name: "source-" + profiler.ProbeName, Title: "Source " + profiler.ProbeName, State: doctor.OK,
		Detail: "bandmate measure --source " + profiler.ProbeName + " works here: it infers traffic from how far known streams and the application slow each other, and is calibrated when first used",
	}
	if !measurable {
		f.State, f.Detail = doctor.Missing, "streams cannot run beside an application here, see the findings above"
	}
	return f
}
