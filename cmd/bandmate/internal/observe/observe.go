// Package observe has the command that measures how much a neighbor slows a running
// program down.
package observe

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
)

type observeFlags struct {
	placement cli.PlacementFlags
	progress  cli.ProgressFlags
	target    observedFlags
	beside    besideFlags
	duration  time.Duration
}

// observedFlags name the running program that is slowed down.
type observedFlags struct {
	pid    int
	cgroup string
}

func (f *observedFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.pid, "pid", 0, "observe this running process and its descendants")
	flags.StringVar(&f.cgroup, "cgroup", "", "observe the processes of a cgroup: its folder, or the path below /sys/fs/cgroup")
}

func (f observedFlags) chosen() bool { return f.pid != 0 || f.cgroup != "" }

// besideFlags name what may slow it down.
type besideFlags struct {
	command string
	pid     int
	cgroup  string
	all     bool
}

func (f *besideFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.command, "beside", "", "with -- TARGET: start this co-runner beside it, split at blanks; quotes keep an argument together")
	flags.IntVar(&f.pid, "beside-pid", 0, "what this running process and its descendants cost")
	flags.StringVar(&f.cgroup, "beside-cgroup", "", "what the processes of a cgroup cost")
	flags.BoolVar(&f.all, "all", false, "what each busy program in the same memory domain costs, one after the other")
}

// named lists the flags that were given.
func (f besideFlags) named() []string {
	var names []string
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--beside", f.command != ""}, {"--beside-pid", f.pid != 0}, {"--beside-cgroup", f.cgroup != ""}, {"--all", f.all},
	} {
		if flag.given {
			names = append(names, flag.name)
		}
	}
	return names
}

// NewCommand returns the command observe.
func NewCommand(a *cli.App) *cobra.Command {
	var f observeFlags
	cmd := &cobra.Command{
		Use:   "observe [-- TARGET...]",
		Short: "Measure what a neighbor costs a program, now",
		Long: `Measures how much a neighbor slows a program down: the neighbor is repeatedly
paused for some milliseconds, and the progress of the program meanwhile is
compared with the progress just before and after. No profile is needed.

With -- TARGET both programs are started, each on CPUs of its own, the co-runner
paused for about two thirds of the time; one that ends is started again.

With --pid or --cgroup both are already running. The neighbor is paused for at
most 2% of its time, never for longer than a tenth of a second, and is resumed
whatever ends this command. This needs the right to signal it: be its user, or
root. The program itself is never paused. The result is valid for this moment
and, unlike a prediction, includes caches and CPUs that both use.

The count of progress is detected: one that the program keeps itself (package
ticks/progress), instructions, bytes read and written, or calls of functions. A
--progress flag names one instead. The control is the same measurement without
a pause: it has to find 1.

It takes --duration, or less once the interval is within 0.01 either way.`,
		Example: `  bandmate observe --beside ./corunner.sh -- ./solver input.dat
  bandmate observe --pid 4242 --beside-pid 4711 -o json
  bandmate observe --pid 4242 --all --duration 60s
  bandmate observe --cgroup system.slice/web.service --beside-cgroup batch.slice`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || (dash < 0 && len(args) > 0) {
				return cli.Usagef("put the target after --")
			}
			return f.check(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.target.chosen() {
				return observeRunning(cmd.Context(), a, f)
			}
			return observeStarted(cmd.Context(), a, args, f)
		},
	}
	flags := cmd.Flags()
	f.target.add(flags)
	f.beside.add(flags)
	f.progress.Add(flags)
	f.placement.Beside = "co-runner"
	f.placement.Add(flags)
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "maximum time of the measurement")
	return cmd
}

// check refuses what does not go together.
func (f observeFlags) check(args []string) error {
	if err := cli.CheckDuration("--duration", f.duration); err != nil {
		return err
	}
	named := f.beside.named()
	switch {
	case f.target.pid < 0 || f.beside.pid < 0:
		return cli.Usagef("--pid %d --beside-pid %d: want the numbers of processes", f.target.pid, f.beside.pid)
	case f.target.pid != 0 && f.target.cgroup != "":
		return cli.Usagef("--pid and --cgroup: want one of them")
	case len(named) > 1:
		return cli.Usagef("%s and %s: want one of them", named[0], named[1])
	case f.target.chosen() && len(args) > 0:
		return cli.Usagef("--pid and --cgroup name what runs already: want no command with them")
	case !f.target.chosen() && len(args) == 0:
		return cli.Usagef("want either --pid or --cgroup, or --beside CORUNNER -- TARGET")
	case len(args) > 0 && f.beside.command == "":
		return cli.Usagef("want --beside CORUNNER with -- TARGET")
	case f.target.chosen() && f.beside.command != "":
		return cli.Usagef("--beside starts a co-runner beside a TARGET that is started, too: want --beside-pid, --beside-cgroup or --all with --pid and --cgroup")
	case f.target.chosen() && len(named) == 0:
		return cli.Usagef("want --beside-pid, --beside-cgroup or --all")
	case f.target.pid != 0 && f.target.pid == f.beside.pid:
		return cli.Usagef("--pid and --beside-pid: want two different processes")
	}
	return nil
}
