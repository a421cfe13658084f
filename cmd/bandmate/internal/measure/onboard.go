package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/curves/design"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

type onboardFlags struct {
	pictures    cli.PictureFlags
	placement   cli.PlacementFlags
	precision   cli.PrecisionFlags
	readShares  []string
	levels      []string
	pattern     string
	machine     string
	source      string
	iterations  int
	timeout     time.Duration
	resume      bool
	discard     bool
	showOutput  bool
	adaptive    bool
	budget      float64
	progress    cli.ProgressFlags
	wholeRuns   bool
	interferers int
	// communication says what the application exchanges.
	communication communicationFlags
	// service says that the application is one.
	service serviceFlags
}

// NewOnboard returns the command onboard.
func NewOnboard(a *cli.App) *cobra.Command {
	var f onboardFlags
	cmd := &cobra.Command{
		Use:   "onboard NAME -- CMD...",
		Short: "Measure an application, alone and under pressure, into a profile",
		Long: `Measures how much CMD loses beside an interferer at several read shares and
bandwidths, and stores the profile NAME. CMD must do fixed work and end.

It runs a few times alone, once or more under pressure, and in two to six pairs
of whole runs as a check. Its output is written on every run. While it runs, the
interferer is switched on and off every few milliseconds. The progress of CMD in
neighboring slices is compared, so that the noise of the machine cancels.

The count of progress is detected: one that CMD keeps itself (package
ticks/progress), instructions, calls of functions, or bytes read and written. It
is checked against whole runs. A --progress flag names a count instead: a regular
expression such as '^step ([0-9]+)', whose first group, if it is a number, is the
progress so far; a file; a metric; or a function.

If CMD and the interferer share a last-level cache, CMD is also measured beside
working sets that the interferer keeps there. This takes up to two fifths longer.

Where nothing tells its progress, and with --whole-runs, --iterations or
--resume, whole runs are timed beside each pressure, dozens of them. Ctrl-C then
keeps the samples; --resume goes on with them. --adaptive makes a few runs
instead, beside pressures that teach most, and infers the rest of the curves.

--measure-communication also runs CMD alone to count what it sends and receives over
the network interfaces, if nobody else uses them; --sent and --received declare it.
Predictions then count what neighbors on the same network card take, if the
machine's network is known (bandmate machine network).

With --service, CMD is a server that runs until it is stopped. Its latency is
measured alone at loads up to its saturation, by requests at random moments
(--request), and its CPU time per request beside the interferer at two loads;
predict --load then tells its p99 beside neighbors. --load-command takes another
load generator, of which only the saturation is learned. --attach-pid and
--attach-cgroup measure a server that runs already, without CMD.

--interferers N presses up to N times as hard, where one interferer cannot make
the traffic of several neighbors. Levels above 100% need it.`,
		Example: `  bandmate onboard xz -- xz -9 -k -c big.tar
  bandmate onboard solver --read-share 50%,75%,100% -- ./solver input.dat
  bandmate onboard solver --adaptive -- ./solver input.dat
  bandmate onboard solver --progress '^step' -- ./solver input.dat
  bandmate onboard solver --interferers 2 --levels 50%,100%,200% -- ./solver input.dat
  bandmate onboard solver --resume -- ./solver input.dat
  bandmate onboard redis --service --request redis://127.0.0.1:6379/GET/key -- redis-server --save ''
  bandmate onboard web --service --request http://127.0.0.1:8080/{100} --attach-pid 4321
  bandmate onboard solver --measure-communication --message-size 1MiB --overlapped -- ./solver input.dat
  bandmate onboard solver --sent 120MB/s --received 120MB/s --communication-apart -- ./solver input.dat`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.service.on && f.service.attached() {
				if len(args) != 1 {
					return cli.Usagef("%s: want NAME alone with --attach-pid and --attach-cgroup", cmd.CommandPath())
				}
				return nil
			}
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return cli.Usagef("%s: want NAME -- CMD ARGS", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.chooseFrom(cmd.Flags())
			if f.service.on {
				return runOnboardService(cmd.Context(), a, args[0], args[1:], f)
			}
			return runOnboard(cmd.Context(), a, args[0], args[1:], f)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// add defines the flags.
func (f *onboardFlags) add(flags *pflag.FlagSet) {
	f.placement.Add(flags)
	f.precision.Add(flags)
	flags.StringSliceVar(&f.readShares, "read-share", []string{"50%", "100%"}, "read shares of the interferer")
	flags.StringSliceVar(&f.levels, "levels", []string{"25%", "50%", "75%", "100%"}, "bandwidths of the interferer, as shares of the sustained maximum")
	flags.StringVar(&f.pattern, "pattern", "sequential", "order of the interferer's cache lines: sequential or random")
	flags.StringVar(&f.machine, "machine", "", "name of the machine profile (default: the host's name; measured first when missing)")
	flags.StringVar(&f.source, "source", "", "how to measure the traffic of CMD alone: probe, or counters such as imc (default: the best that works here)")
	flags.IntVar(&f.iterations, "iterations", 1, "run CMD this many times in a row per sample, when it is too short to time")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "maximum time of one run of CMD")
	flags.BoolVar(&f.resume, "resume", false, "continue with the samples of an interrupted run")
	flags.BoolVar(&f.discard, "discard", false, "discard the samples of an interrupted run")
	flags.BoolVar(&f.adaptive, "adaptive", false, "choose each pressure by its expected information, make one run each, and infer the others")
	flags.Float64Var(&f.budget, "budget", 4, "with --adaptive, the total time of the runs beside the interferer, in solo times; half as much for an application that loses little")
	f.progress.Add(flags)
	flags.BoolVar(&f.wholeRuns, "whole-runs", false, "time whole runs beside each pressure, where nothing within a run tells its progress")
	flags.IntVar(&f.interferers, "interferers", 1, "number of interferers of the same size; --interferer-cpus are divided among them")
	f.communication.add(flags)
	f.service.add(flags)
	flags.BoolVar(&f.showOutput, "show-output", false, "copy the application's output to standard error")
	f.pictures.Add(flags, "the curves")
}

// chooseFrom has an adaptive onboarding choose from more pressures than a full
// one measures, unless the caller said from which.
func (f *onboardFlags) chooseFrom(flags *pflag.FlagSet) {
	f.communication.chooseFrom(flags)
	f.service.chooseFrom(flags)
	if !flags.Changed("levels") {
		f.levels = append(f.levels, crowdLevels(f.interferers)...)
	}
	if !f.adaptive {
		return
	}
	if !flags.Changed("read-share") {
		f.readShares = texts(onboard.AdaptiveReadShares)
	}
	if !flags.Changed("levels") {
		f.levels = texts(onboard.AdaptiveLevels)
	}
}

func texts[T ~float64](shares []T) []string {
	var all []string
	for _, s := range shares {
		all = append(all, units.ReadShare(s).String())
	}
	return all
}

func (f onboardFlags) pressures() ([]pressure.Pressure, error) {
	shares, err := cli.ParseShares("--read-share", f.readShares)
	if err != nil {
		return nil, err
	}
	levels, err := parseCrowdLevels("--levels", f.levels, f.interferers)
	if err != nil {
		return nil, err
	}
	pattern, err := cli.ParsePattern("--pattern", f.pattern)
	if err != nil {
		return nil, err
	}
	if len(shares) == 0 || len(levels) == 0 {
		return nil, cli.Usagef("--read-share and --levels: want at least one each")
	}
	var wanted []pressure.Pressure
	for _, p := range pressure.Grid(shares, levels, pattern) {
		if !slices.Contains(wanted, p) {
			wanted = append(wanted, p)
		}
	}
	return wanted, nil
}

// validate refuses what is out of range, and flags that exclude each other.
func (f onboardFlags) validate(name string) error {
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return cli.Usagef("application name %q: %s", name, faults[0])
	}
	if f.iterations < 1 {
		return cli.Usagef("--iterations %d: want 1 or more", f.iterations)
	}
	if err := cli.CheckDuration("--timeout", f.timeout); err != nil {
		return err
	}
	if f.adaptive && !(f.budget >= 1 && f.budget <= 1000) {
		return cli.Usagef("--budget %v: want 1 to 1000 solo times", f.budget)
	}
	if f.resume && f.discard {
		return cli.Usagef("--resume and --discard: want one of them")
	}
	if err := f.service.check(); err != nil {
		return err
	}
	return f.pictures.Check()
}

func runOnboard(ctx context.Context, a *cli.App, name string, args []string, f onboardFlags) (err error) {
	if err := f.validate(name); err != nil {
		return err
	}
	ticking, err := f.ticking()
	if err != nil {
		return err
	}
	wanted, err := f.pressures()
	if err != nil {
		return err
	}
	exchanged, err := f.communication.declared()
	if err != nil {
		return err
	}
	precision, err := f.precision.Precision()
	if err != nil {
		return err
	}
	placing, err := f.placement.Placing()
	if err != nil {
		return err
	}
	placing.Interferers = f.interferers
	machine, err := cli.MachineName(f.machine)
	if err != nil {
		return err
	}
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	counters, err := cli.OpenCounters(ctx, f.source, pmu.SplitsReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counters.Close()) }()
	watch, closed, err := watchesOccupancy()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed()) }()
	placing.Occupancy = watch
	command := launch.Command{Args: args, Iterations: f.iterations, Timeout: f.timeout}
	if f.showOutput {
		command.Output = a.Stderr
	}
	if err := command.Check(); err != nil {
		return err
	}
	job := onboarding{
		app: a, folder: folder, application: onboard.Application{Name: name, Command: command},
		machine: machine, wanted: wanted, precision: precision, placing: placing, resume: f.resume, discard: f.discard, source: counters.Source, ticking: ticking,
		communication: exchanged, measureCommunication: f.communication.measure, interfaces: f.communication.interfaces,
	}
	if f.adaptive {
		job.adaptive = &onboard.Adaptivity{Budget: f.budget}
	}
	profile, err := job.run(ctx)
	if err != nil {
		return err
	}
	return a.PrintDrawn(profile, cli.CurvePlot(profile), f.pictures, func(w io.Writer) error { return a.WriteProfile(w, profile) })
}

// onboarding is one run of the onboard command.
type onboarding struct {
	app         *cli.App
	folder      *store.Store
	application onboard.Application
	machine     string
	wanted      []pressure.Pressure
	precision   sampling.Precision
	placing     bench.Placing
	resume      bool
	// discard gives up the samples of an interrupted run.
	discard bool
	// adaptive has the pressures chosen; nil measures all.
	adaptive *onboard.Adaptivity
	// source measures the application's traffic; nil has it inferred.
	source profiler.Source
	// ticking has it measured within its runs; nil times whole runs.
	ticking *onboard.Ticking
	// communication is what was declared of it; nil where nothing was.
	communication *v1alpha1.Communication
	// measureCommunication has its rates measured on these interfaces.
	measureCommunication bool
	interfaces           []string
}

func (j onboarding) run(ctx context.Context) (profile *v1alpha1.ApplicationProfile, err error) {
	known, err := knownMachine(j.folder, j.machine)
	if err != nil {
		return nil, err
	}
	session, err := bench.Open(ctx, j.placing)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	j.app.Note(session.Placement.Explanation)
	if known == nil {
		j.app.Notef("This machine is not known yet: it is measured along the way, as %s.\n", j.machine)
	}
	exchanged, err := j.exchanged(ctx, session)
	if err != nil {
		return nil, err
	}
	progress := j.app.NewProgress()
	defer progress.Done()
	if j.adaptive != nil {
		j.adaptive.Chosen = j.tellChoice
		j.adaptive.Ended = func(reason string) { j.app.Notef("No further run: %s.\n", reason) }
	}
	experiment := &onboard.Onboarding{
		Session: session, Application: j.application, Wanted: j.wanted, Precision: j.precision,
		Known: known, Machine: cli.MachineOptions(j.machine, false), Reporter: progress, Source: j.source,
		Adaptive: j.adaptive, Ticking: j.ticking,
	}
	journal, err := j.openJournal(experiment)
	if err != nil {
		return nil, err
	}
	profile, machine, err := j.measure(ctx, experiment, progress)
	progress.Done()
	err = errors.Join(err, journal.Close())
	if err == nil {
		j.communicate(profile, exchanged)
		err = j.putBoth(profile, machine, known)
	}
	if err != nil {
		return nil, errors.Join(err, j.leave(journal))
	}
	return profile, j.journal().remove()
}

// measure runs the experiment, by whole runs where nothing within a run tells its
// progress.
func (j onboarding) measure(ctx context.Context, experiment *onboard.Onboarding, progress *cli.Progress) (*v1alpha1.ApplicationProfile, *v1alpha1.MachineProfile, error) {
	if j.ticking != nil {
		j.ticking.Report = progress.Share
	}
	profile, machine, err := experiment.Run(ctx)
	if err == nil && j.ticking != nil {
		j.app.Notef("Progress within the runs was told by: %s.\n", profile.Spec.Measurement.Ticks)
	}
	if j.ticking == nil || j.ticking.Source != nil || !errors.Is(err, bench.ErrNoTicks) {
		return profile, machine, err
	}
	reason := fmt.Sprintf("whole runs were timed: %v", err)
	j.app.Notef("Timing whole runs: %v.\n", err)
	experiment.Ticking = nil
	profile, machine, err = experiment.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	profile.Spec.Warnings = append(profile.Spec.Warnings, reason)
	return profile, machine, nil
}

// putBoth stores the profile, and the machine's where it was measured.
func (j onboarding) putBoth(profile *v1alpha1.ApplicationProfile, machine, known *v1alpha1.MachineProfile) error {
	if machine != known {
		if err := cli.PutMachine(j.folder, machine); err != nil {
			return err
		}
	}
	return j.put("profile", profile)
}

// tellChoice says what is measured next, and why.
func (j onboarding) tellChoice(c design.Choice, left time.Duration) {
	j.app.Notef("Next: beside %v reads at %.0f%%, pressed %.0f%% of the time: %v; at most %v left.\n",
		c.ReadShare, 100*c.Level, 100*c.Duty, c, left.Round(time.Second))
}

func (j onboarding) put(what string, profile v1alpha1.Object) error {
	if err := j.folder.Put(profile); err != nil {
		return fmt.Errorf("storing the %s: %w", what, err)
	}
	return nil
}

// openJournal has every sample of the experiment kept.
func (j onboarding) openJournal(experiment *onboard.Onboarding) (*sampling.Journal, error) {
	place := experiment.Session.Placement
	fingerprint, err := sampling.Fingerprint(j.application.Command.Args, j.application.Command.Iterations, j.wanted,
		j.machine, place.Target.String(), place.Interferer.String(), place.MemoryNode, j.adaptive != nil)
	if err != nil {
		return nil, err
	}
	if j.discard {
		if err := j.journal().remove(); err != nil {
			return nil, err
		}
	}
	journal, err := j.journal().open(fingerprint, j.resume, experiment)
	if err != nil {
		return nil, err
	}
	experiment.Keep = journal.Keep
	return journal, nil
}

// leave keeps the samples of an experiment that did not get to its end.
func (j onboarding) leave(journal *sampling.Journal) error {
	if journal.Samples() == 0 {
		return j.journal().remove()
	}
	j.app.Notef("The %d samples so far are kept: go on with --resume.\n", journal.Samples())
	return nil
}

func (j onboarding) journal() journalFile {
	return journalFile(filepath.Join(j.folder.Dir(), "interrupted", j.application.Name+".jsonl"))
}

// journalFile is the path of an application's sample journal.
type journalFile string

// open resumes the journal into the experiment, or starts an empty one.
func (f journalFile) open(fingerprint string, resume bool, experiment *onboard.Onboarding) (*sampling.Journal, error) {
	if !resume {
		journal, err := sampling.CreateJournal(string(f), fingerprint)
		if errors.Is(err, sampling.ErrInterrupted) {
			return nil, fmt.Errorf("%w: go on with --resume, or start anew with --discard", err)
		}
		return journal, err
	}
	journal, samples, err := sampling.ResumeJournal(string(f), fingerprint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("nothing to resume: %w: start without --resume", err)
	}
	if err != nil {
		return nil, err
	}
	experiment.Restored = samples
	return journal, nil
}

func (f journalFile) remove() error { return sampling.RemoveJournal(string(f)) }
