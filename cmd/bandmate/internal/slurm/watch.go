package slurm

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/watch"
)

// mostChanges is the number of jobs that a round may change: slurmctld has others to
// serve.
const mostChanges = 500

// watchFlags say what a watch does and where it remembers that.
type watchFlags struct {
	slurmFlags

	mode                string
	margin              float64
	table, log          string
	interval            time.Duration
	state               string
	leave, once         bool
	off, on, takingBack bool
}

func newSlurmWatchCommand(a *cli.App) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Keep pending jobs off unsuitable nodes as running jobs change",
		Long: `Reads the queue every --interval and decides, for every waiting job whose
application has a profile, which nodes it should avoid: those where its
slowdown, or that of a job running or expected there, would exceed --limit.
Exclusions follow the residents. A job always keeps as many nodes as it needs.

--mode says what it changes: observe only writes the decision log, advise also
writes the advice into the AdminComment of the job, enforce sets ExcNodeList.
The watch removes its exclusions when the resident ends, when it is switched
off and when it ends. The user's own exclusions stay, and a list that was
changed by others is left alone. To change the jobs of others it has to run as
SlurmUser or as an operator. slurmctld is not patched, and nothing is set on
nodes.

The decision log has one JSON object per line, on standard output unless --log
names a file. --table is the file that job_submit.lua reads.

From cron, --once makes one round and exits: with 0 if it succeeded, 1 if it
failed, as while slurmctld does not answer or another watch has the folder, and
2 for wrong flags. With -q and --log, cron mails only errors.

Two watches never share a --state folder. After a watch was killed, the next
one knows its exclusions from that folder; "watch --undo" removes them without
watching. The off switch is a file in that folder, set by --off.`,
		Example: `  bandmate slurm watch --mode observe --limit 1.15
  bandmate slurm watch --mode enforce --limit 1.15 --log /var/log/bandmate/decisions.jsonl
  bandmate slurm watch --off
  bandmate slurm watch status`,
		Args: cli.WantArgs(cobra.NoArgs, "flags, or status"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWatch(cmd.Context(), a, f) },
	}
	f.define(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("off", "on", "undo", "once")
	cmd.AddCommand(newSlurmWatchStatusCommand(a))
	return cmd
}

func (f *watchFlags) define(flags *pflag.FlagSet) {
	f.addJudging(flags)
	flags.StringVar(&f.mode, "mode", string(watch.Observe), "observe, advise or enforce")
	cli.Values(flags, "mode", string(watch.Observe), string(watch.Advise), string(watch.Enforce))
	flags.Float64Var(&f.margin, "margin", 0, "also exclude nodes that cost a newcomer this much more than the best one, in work lost per CPU, for example 0.1")
	flags.DurationVar(&f.interval, "interval", 10*time.Second, "time between rounds")
	flags.StringVar(&f.table, "table", "", "file for job_submit.lua, with --mode enforce")
	flags.StringVar(&f.log, "log", "", "decision log (default: standard output)")
	addStateFlag(flags, &f.state)
	flags.BoolVar(&f.leave, "leave", false, "on exit, keep the exclusions for the next watch")
	flags.BoolVar(&f.once, "once", false, "make one round and keep its exclusions")
	flags.BoolVar(&f.off, "off", false, "switch the watch off: take its exclusions back, and do nothing until --on")
	flags.BoolVar(&f.on, "on", false, "switch the watch on again")
	flags.BoolVar(&f.takingBack, "undo", false, "take back the exclusions of a watch that was killed")
}

func addStateFlag(flags *pflag.FlagSet, state *string) {
	flags.StringVar(state, "state", "", "folder of the watch's state (default $STATE_DIRECTORY, else bandmate/slurm in the XDG state folder)")
}

// stateFolder returns the folder of the watch.
func stateFolder(a *cli.App, given string) (string, error) {
	switch {
	case given != "":
		return given, nil
	case a.Env("STATE_DIRECTORY") != "":
		return a.Env("STATE_DIRECTORY"), nil
	case a.Env("XDG_STATE_HOME") != "":
		return filepath.Join(a.Env("XDG_STATE_HOME"), "bandmate", "slurm"), nil
	case a.Env("HOME") != "":
		return filepath.Join(a.Env("HOME"), ".local", "state", "bandmate", "slurm"), nil
	}
	return "", cli.Usagef("no folder for the state: name one with --state")
}

func runWatch(ctx context.Context, a *cli.App, f watchFlags) error {
	w, err := newWatcher(a, f)
	if err != nil {
		return err
	}
	switch {
	case f.off:
		return switchOff(ctx, a, w)
	case f.on:
		return watch.SwitchOn(w.Folder)
	case f.takingBack:
		return w.TakeBack(ctx)
	}
	planner, err := w.Planner()
	if err != nil {
		return err
	}
	if err := planner.Validate(); err != nil {
		return cli.UsageError(err)
	}
	if planner.Advisor.Len() == 0 {
		a.Warn([]string{"there are no profiles, so no node will be excluded: choose a folder with --store or BANDMATE_STORE"})
	}
	if f.once {
		return w.Once(ctx)
	}
	a.Note(fmt.Sprintf("Watching in the mode %s, a round every %v, %s. What is remembered is in %s.",
		w.Mode, w.Interval, text.Count(planner.Advisor.Len(), "profile"), w.Folder))
	return w.Run(ctx)
}

// newWatcher is the watch that the flags describe.
func newWatcher(a *cli.App, f watchFlags) (*watch.Watcher, error) {
	folder, err := stateFolder(a, f.state)
	if err != nil {
		return nil, err
	}
	judged, err := f.options()
	if err != nil {
		return nil, err
	}
	w := &watch.Watcher{
		Options: watch.Options{
			Mode: watch.Mode(f.mode), Folder: folder, Table: f.table, Log: f.log, Out: a.Stdout,
			Interval: f.interval, MostChanges: mostChanges, Leave: f.leave || f.once,
		},
		Runner: slurm.Commands{Timeout: f.timeout},
		Read:   newReader(f.slurmFlags).Read,
	}
	if err := w.Validate(); err != nil {
		return nil, cli.UsageError(err)
	}
	if f.table != "" && w.Mode != watch.Enforce {
		return nil, cli.Usagef("--table with --mode %s: only --mode enforce writes a table, because only it takes back what job_submit.lua excludes", f.mode)
	}
	var profiles cli.Profiles
	w.Planner = func() (watch.Planner, error) {
		site, err := loadSite(a, f.site)
		if err != nil {
			return watch.Planner{}, err
		}
		known, err := freshAdvisor(a, &profiles)
		return watch.Planner{
			Site: site, Advisor: known, Score: judged.Score, Limit: f.limit.Slowdown, Margin: f.margin,
		}, err
	}
	return w, nil
}

func switchOff(ctx context.Context, a *cli.App, w *watch.Watcher) error {
	if err := watch.SwitchOff(w.Folder); err != nil {
		return err
	}
	if process, running := watch.Running(w.Folder); running {
		a.Note(fmt.Sprintf("Switched off. Process %s takes back what it set in its next round.", process))
		return nil
	}
	return w.TakeBack(ctx)
}

// freshAdvisor advises from the store as it is now. Unreadable files are named when
// something has changed.
func freshAdvisor(a *cli.App, profiles *cli.Profiles) (*advisor.Advisor, error) {
	known, changed, err := profiles.Advisor(a)
	if err == nil && changed {
		warnBroken(a, known)
	}
	return known, err
}

func newSlurmWatchStatusCommand(a *cli.App) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the watch found and did last",
		Long: `Prints the status of the watch that uses the --state folder; while slurmctld
does not answer, the last known state. The exit code is 0 if the last round
succeeded and the watch is running, or makes rounds with --once, as from cron;
otherwise it is 1.`,
		Example: `  bandmate slurm watch status
  bandmate slurm watch status --state /var/lib/bandmate/slurm -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return showStatus(a, state) },
	}
	addStateFlag(cmd.Flags(), &state)
	return cmd
}

func showStatus(a *cli.App, state string) error {
	folder, err := stateFolder(a, state)
	if err != nil {
		return err
	}
	status, err := watch.ReadStatus(folder)
	if err != nil {
		return err
	}
	if err := a.Print(status, statusText(status)); err != nil {
		return err
	}
	if !status.Fine() {
		return cli.ErrReported
	}
	return nil
}
