package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/load"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/topology"
)

// serviceFlags say that the application is a service, and how to load it.
type serviceFlags struct {
	on           bool
	ready        string
	requests     []string
	command      string
	connections  int
	readyTimeout time.Duration
	loadTime     time.Duration
	budget       time.Duration
	pid          int
	cgroup       string
	// given are the flags that were set, by name.
	given map[string]bool
}

func (f *serviceFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "service", false, "CMD is a server: measure its latency against its load, and what pressure does to it")
	flags.StringVar(&f.ready, "ready", "", "with --service, a URL that answers once the server is ready, like those of --request, or tcp://HOST:PORT (default: that of --request)")
	flags.StringArrayVar(&f.requests, "request", nil, "with --service, request of the built-in load: http://, https://, redis://HOST:PORT/COMMAND/ARGUMENT or memcached://HOST:PORT/KEY; {N} is a random number below N; several take turns at random")
	flags.IntVar(&f.connections, "connections", 64, "with --request, number of requests that may be under way at a time")
	flags.StringVar(&f.command, "load-command", "", "with --service, make the load by this command, a closed loop whose requests a --progress flag counts")
	flags.DurationVar(&f.readyTimeout, "ready-timeout", time.Minute, "with --service, how long the server may take to be ready")
	flags.DurationVar(&f.loadTime, "load-time", 2*time.Second, "with --request, how long the server is measured at each load alone, at least")
	flags.DurationVar(&f.budget, "pressure-time", 30*time.Second, "with --service, longest time under pressure at each load")
	flags.IntVar(&f.pid, "attach-pid", 0, "with --service, measure this running server and its descendants")
	flags.StringVar(&f.cgroup, "attach-cgroup", "", "with --service, measure the running server of this cgroup: its folder, or the path below "+tasks.CgroupRoot)
}

// serviceOnly are the flags that need --service, and notService those that do not go
// with it.
var (
	serviceOnly = []string{"ready", "request", "connections", "load-command", "ready-timeout", "load-time", "pressure-time", "attach-pid", "attach-cgroup"}
	notService  = []string{
		"adaptive", "budget", "iterations", "resume", "discard", "whole-runs", "timeout", "measure-communication", "interface",
		"sent", "received", "message-size", "overlapped", "communication-apart",
	}
	progressFlags = []string{"progress", "progress-file", "progress-url", "progress-function"}
)

// chooseFrom remembers which flags were set.
func (f *serviceFlags) chooseFrom(flags *pflag.FlagSet) {
	f.given = map[string]bool{}
	flags.Visit(func(flag *pflag.Flag) { f.given[flag.Name] = true })
}

// attached reports whether the server runs already.
func (f *serviceFlags) attached() bool { return f.pid != 0 || f.cgroup != "" }

// check refuses flags that do not go together.
func (f *serviceFlags) check() error {
	if !f.on {
		for _, name := range serviceOnly {
			if f.given[name] {
				return cli.Usagef("--%s: want --service with it", name)
			}
		}
		return nil
	}
	for _, name := range notService {
		if f.given[name] {
			return cli.Usagef("--service and --%s: want one of them", name)
		}
	}
	counted := false
	for _, name := range progressFlags {
		counted = counted || f.given[name]
	}
	switch {
	case (len(f.requests) > 0) == (f.command != ""):
		return cli.Usagef("--service: want either --request or --load-command with it")
	case f.command != "" && f.ready == "":
		return cli.Usagef("--load-command: want --ready with it, a URL that answers once the server is ready")
	case counted != (f.command != ""):
		return cli.Usagef("--load-command: want a --progress flag with it, which counts its requests; --request counts its own")
	case f.pid != 0 && f.cgroup != "":
		return cli.Usagef("--attach-pid and --attach-cgroup: want one of them")
	case f.pid < 0:
		return cli.Usagef("--attach-pid %d: want the number of a process", f.pid)
	case f.connections < 1 || f.connections > mostConnections:
		return cli.Usagef("--connections %d: want 1 to %d", f.connections, mostConnections)
	}
	return errors.Join(cli.CheckDuration("--ready-timeout", f.readyTimeout), cli.CheckDuration("--load-time", f.loadTime), cli.CheckDuration("--pressure-time", f.budget))
}

// mostConnections bounds what a server has to hold open.
const mostConnections = 10_000

// targets parses the URLs.
func (f *serviceFlags) targets() (ready, target *load.Target, err error) {
	if len(f.requests) > 0 {
		if target, err = load.Parse(f.requests...); err != nil {
			return nil, nil, cli.Usagef("--request %w", err)
		}
		if target.Connects() {
			return nil, nil, cli.Usagef("--request %s: %w", target, load.ErrURL)
		}
		ready = target
	}
	if f.ready != "" {
		if ready, err = load.Parse(f.ready); err != nil {
			return nil, nil, cli.Usagef("--ready %w", err)
		}
	}
	return ready, target, nil
}

// serviceJob is one onboarding of a service.
type serviceJob struct {
	app     *cli.App
	folder  *store.Store
	flags   onboardFlags
	serving *onboard.Serving
	placing bench.Placing
	machine string
}

// newServiceJob reads the flags.
func newServiceJob(a *cli.App, name string, args []string, f onboardFlags) (*serviceJob, error) {
	if err := f.validate(name); err != nil {
		return nil, err
	}
	s := &onboard.Serving{
		Name: name, Command: launch.Command{Args: args},
		Connections: f.service.connections, Patience: f.service.readyTimeout, LoadTime: f.service.loadTime, Budget: f.service.budget,
		Precision: modulation.Precision{StandardError: f.precision.Points() / 100},
	}
	j := &serviceJob{app: a, flags: f, serving: s}
	var err error
	if s.Ready, s.Target, err = f.service.targets(); err != nil {
		return nil, err
	}
	if s.Wanted, err = f.pressures(); err != nil {
		return nil, err
	}
	if s.Source, err = f.progress.Source(); err != nil {
		return nil, err
	}
	if s.Generator.Args, err = cli.SplitWords(f.service.command); err != nil {
		return nil, cli.Usagef("--load-command: %w", err)
	}
	if j.placing, err = f.placement.Placing(); err != nil {
		return nil, err
	}
	j.placing.Interferers = f.interferers
	if j.machine, err = cli.MachineName(f.machine); err != nil {
		return nil, err
	}
	s.Machine = cli.MachineOptions(j.machine, false)
	if j.folder, err = a.OpenStore(); err != nil {
		return nil, err
	}
	if err := j.folder.CheckWritable(); err != nil {
		return nil, err
	}
	s.Known, err = knownMachine(j.folder, j.machine)
	if f.showOutput {
		s.Command.Output, s.Generator.Output = a.Stderr, a.Stderr
	}
	return j, err
}

// runOnboardService onboards a service.
func runOnboardService(ctx context.Context, a *cli.App, name string, args []string, f onboardFlags) (err error) {
	j, err := newServiceJob(a, name, args, f)
	if err != nil {
		return err
	}
	counters, err := cli.OpenCounters(ctx, f.source, pmu.SplitsReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counters.Close()) }()
	j.serving.Traffic = counters.Source
	attached, err := f.service.open(&j.placing)
	if err != nil {
		return err
	}
	if attached != nil {
		j.serving.Attached = attached
		defer func() { err = errors.Join(err, attached.Close()) }()
	}
	profile, err := j.run(ctx)
	if err != nil {
		return err
	}
	return a.PrintDrawn(profile, cli.CurvePlot(profile), f.pictures, func(w io.Writer) error { return a.WriteProfile(w, profile) })
}

// run measures and stores the profile.
func (j *serviceJob) run(ctx context.Context) (profile *v1alpha1.ApplicationProfile, err error) {
	session, err := bench.Open(ctx, j.placing)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	j.app.Note(session.Placement.Explanation)
	known := j.serving.Known
	if known == nil {
		j.app.Notef("This machine is not known yet: it is measured along the way, as %s.\n", j.machine)
	}
	progress := j.app.NewProgress()
	defer progress.Done()
	j.serving.Session, j.serving.Report = session, progress.Share
	profile, machine, err := j.serving.Run(ctx)
	progress.Done()
	if err != nil {
		return nil, err
	}
	return profile, onboarding{app: j.app, folder: j.folder}.putBoth(profile, machine, known)
}

// open finds the processes of a running server; nil where it is to be started. Unless
// the caller chose CPUs, the server is where it may run.
func (f *serviceFlags) open(placing *bench.Placing) (opened, error) {
	if !f.attached() {
		return nil, nil //nolint:nilnil // it is to be started
	}
	scope := scopeFlags{pid: f.pid, cgroup: f.cgroup}
	processes, err := scope.open()
	if err != nil {
		return nil, err
	}
	if !placing.Target.IsEmpty() {
		return processes, nil
	}
	cpus, err := cpusOf(processes)
	if err == nil {
		var allowed cpuset.CPUSet
		if allowed, err = topology.AllowedCPUs(); err == nil && allowed.Difference(cpus).IsEmpty() {
			err = fmt.Errorf("%w: %s may run on every CPU, so that none is left for the interferer: confine it, for example with taskset -acp, or say with --cpus where it runs", launch.ErrPlacement, processes)
		}
	}
	if err != nil {
		return nil, errors.Join(err, processes.Close())
	}
	placing.Target = cpus
	return processes, nil
}

// cpusOf returns the CPUs that processes may run on.
func cpusOf(p profiler.Processes) (cpuset.CPUSet, error) {
	ids, err := p.Threads()
	if err != nil {
		return cpuset.New(), err
	}
	all := cpuset.New()
	for _, id := range ids {
		// A thread that has ended runs nowhere.
		if cpus, err := topology.ThreadCPUs(id); err == nil {
			all = all.Union(cpus)
		}
	}
	if all.IsEmpty() {
		return all, fmt.Errorf("%s: %w", p, os.ErrProcessDone)
	}
	return all, nil
}
