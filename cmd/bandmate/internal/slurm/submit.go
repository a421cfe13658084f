package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/slurm/sbatch"
	"bandmate.dev/bandmate/units"
)

func newSlurmSubmitCommand(a *cli.App) *cobra.Command {
	var f slurmFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "submit [flags] -- [sbatch|srun|salloc] ARGS...",
		Short: "Submit a job that excludes the nodes where it should not run",
		Long: `Evaluates the nodes, adds --exclude to the command line, never with all nodes,
and executes sbatch, or the command that ARGS begin with: output and exit code
are those of that command. Nodes that the user excluded stay excluded. The
application, nodes, tasks, memory, partition and so on are taken from ARGS, the
environment, and the #SBATCH lines of the script.

No job starts later because of this: Slurm is asked when the job would start
with these nodes excluded and without (--test-only). If it would start later,
or be refused, only nodes on which a limit would be exceeded stay excluded.
Jobs that were submitted just before count as well; the command waits up to 3 s
until Slurm has placed them.

Where there is no advice, as for applications without a profile, jobs that name
their nodes, steps inside a job, or while slurmctld does not answer, the job is
submitted unchanged, and a message gives the reason. With --limit, however, a
job is not submitted if the limit might be exceeded. The exit code is then 5 if
it would be exceeded on every node, or by tasks of an array that Slurm may
start together on one node.`,
		Example: `  bandmate slurm submit -- --comment bandmate=lammps -n 8 run.sh
  bandmate slurm submit --limit 1.15 -- srun --comment bandmate=lammps -n 8 ./lmp
  bandmate slurm submit --dry-run -- --comment bandmate=lammps --wrap "sleep 60"`,
		Args: cli.WantArgs(cobra.MinimumNArgs(1), "the arguments of sbatch after --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmit(cmd.Context(), a, f, args, dryRun)
		},
	}
	f.addExcluding(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the command line, one word per line, and submit nothing")
	return cmd
}

func runSubmit(ctx context.Context, a *cli.App, f slurmFlags, words []string, dryRun bool) error {
	command, args := "sbatch", words
	if slices.Contains([]string{"sbatch", "srun", "salloc"}, words[0]) {
		command, args = words[0], words[1:]
	}
	// Wrong flags are no reason to submit without advice.
	if _, err := f.options(); err != nil {
		return err
	}
	advised, err := advisedArgs(ctx, a, f, command, args)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && f.limit.Slowdown != 0:
		return fmt.Errorf("not submitted, because the limit might be exceeded: %w", err)
	case errors.Is(err, sbatch.ErrNotAdvised):
		a.Note(err.Error())
	case err != nil:
		a.Note(fmt.Sprintf("submitted without advice: %v", err))
	default:
		args = advised
	}
	if dryRun {
		return a.WriteBytes([]byte(strings.Join(append([]string{command}, args...), "\n") + "\n"))
	}
	return become(command, args)
}

// advisedArgs returns the arguments with nodes excluded.
func advisedArgs(ctx context.Context, a *cli.App, f slurmFlags, command string, args []string) ([]string, error) {
	submission, err := sbatch.Parse(command, args, a.Env, readScript)
	if err != nil {
		return nil, err
	}
	advisor, err := newAdvisor(a, f)
	if err != nil {
		return nil, err
	}
	cluster, err := settled(ctx, f)
	if err != nil {
		return nil, err
	}
	advices, unadvised, err := adviseComponents(advisor, cluster, submission.Components, userName(a))
	if err != nil {
		return nil, err
	}
	// What a component without a profile does to a limit is not known.
	if i := slices.IndexFunc(unadvised, func(err error) bool { return err != nil }); i >= 0 &&
		(f.limit.Slowdown != 0 || !slices.Contains(unadvised, nil)) {
		return nil, unadvised[i]
	}
	lists := func(list func(*slurm.Advice) string) []string {
		all := make([]string, len(advices))
		for i, advice := range advices {
			all[i] = submission.Components[i].Excluded()
			if unadvised[i] == nil {
				all[i] = list(advice)
			}
		}
		return all
	}
	s := undelayed{
		commands: slurm.Commands{Timeout: f.timeout}, submission: submission,
		all: lists((*slurm.Advice).ExcludeList), demanded: lists((*slurm.Advice).DemandedList),
	}
	chosen, remark, err := s.choose(ctx)
	if err != nil {
		return nil, err
	}
	for i, advice := range advices {
		if unadvised[i] != nil {
			a.Note(fmt.Sprintf("component %d goes without advice: %v", i, unadvised[i]))
			continue
		}
		a.Warn(advice.Warnings)
		a.Note(toldAdvice(advice, chosen[i]))
	}
	if remark != "" {
		a.Note(remark)
	}
	return submission.WithExcluded(chosen), nil
}

// adviseComponents advises about the components of a job. Of those whose applications are not
// known, unadvised says why.
func adviseComponents(by *slurm.Advisor, c *slurm.Cluster, components []sbatch.Component, user string) (advices []*slurm.Advice, unadvised []error, err error) {
	advices, unadvised = make([]*slurm.Advice, len(components)), make([]error, len(components))
	for i := range components {
		request, err := by.Site.RequestIn(c, &components[i], user)
		if err != nil {
			return nil, nil, err
		}
		if request.Application == "" {
			unadvised[i] = fmt.Errorf("the job names no application: label it with --comment %s=NAME", slurm.ApplicationWord)
			continue
		}
		if advices[i], err = by.Advise(c, request); err != nil {
			return nil, nil, err
		}
		if unadvised[i] = checkKnown(advices[i]); unadvised[i] != nil {
			continue
		}
		if err := checkAdvice(advices[i]); err != nil {
			return nil, nil, err
		}
		// The next component finds this one in place.
		c = c.With(&request, advices[i].Chosen)
	}
	return advices, unadvised, nil
}

// timeToSettle bounds how long a submission waits until Slurm has placed the jobs that
// were submitted just before.
const timeToSettle = 3 * time.Second

// settled reads the cluster once Slurm has looked at all jobs in the queue: where they
// run is then known. It takes about a second in a loop of submissions, and none else.
func settled(ctx context.Context, f slurmFlags) (*slurm.Cluster, error) {
	reader, deadline := newReader(f), time.Now().Add(timeToSettle)
	for {
		c, err := reader.Read(ctx)
		if err != nil || time.Now().After(deadline) || !slices.ContainsFunc(c.Jobs, func(j slurm.Job) bool { return j.Fresh(c.Time) }) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(timeToSettle / 10):
		}
	}
}

// userName is the name of the user who submits.
func userName(a *cli.App) string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return a.Env("USER")
}

// undelayed chooses what to exclude so that the job starts no later for it.
type undelayed struct {
	commands   slurm.Commands
	submission *sbatch.Submission
	// all are the nodes to exclude for each component, demanded those of them that the
	// user or a limit excludes.
	all, demanded []string
}

// delay is how much later than without advice a job may be expected to start: Slurm's
// estimates are whole seconds.
const delay = 5 * time.Second

// choose asks Slurm when the job would start with nodes excluded and without. Only for
// a limit it may start later; what else is excluded is taken back. remark says so. The
// error is that Slurm refuses the job when a limit is to be kept.
func (u *undelayed) choose(ctx context.Context) (lists []string, remark string, err error) {
	own := make([]string, len(u.all))
	for i := range own {
		own[i] = u.submission.Components[i].Excluded()
	}
	if slices.Equal(u.all, own) {
		return u.all, "", nil
	}
	without, err := u.start(ctx, make([]string, len(u.all)))
	if err != nil {
		return u.all, "", nil //nolint:nilerr // refused either way, or not known
	}
	with, err := u.start(ctx, u.all)
	switch refused := (*slurm.CommandError)(nil); {
	case err == nil && !with.After(without.Add(delay)):
		return u.all, "", nil
	case err == nil:
		remark = fmt.Sprintf("Slurm expects a later start with these nodes excluded, %s instead of %s: excluded is only what a limit demands", with.Format(time.TimeOnly), without.Format(time.TimeOnly))
	case errors.As(err, &refused):
		remark = fmt.Sprintf("Slurm refuses the job with these nodes excluded (%s): excluded is only what a limit demands", report.SanitizeText(refused.Stderr))
	default:
		return u.all, "", nil
	}
	if slices.Equal(u.demanded, own) || slices.Equal(u.demanded, make([]string, len(own))) {
		return make([]string, len(own)), strings.Replace(remark, "excluded is only what a limit demands", "submitted without them", 1), nil
	}
	if _, err := u.start(ctx, u.demanded); errors.As(err, new(*slurm.CommandError)) {
		return nil, "", fmt.Errorf("%w: Slurm refuses the job without the nodes %s, on which the limit would be exceeded: %w",
			cli.ErrLimit, strings.Join(u.demanded, " : "), err)
	}
	return u.demanded, remark, nil
}

func (u *undelayed) start(ctx context.Context, lists []string) (time.Time, error) {
	return u.commands.TestStart(ctx, u.submission.Command, u.submission.Question(lists))
}

// toldAdvice is one line for standard error. It names the nodes on which the job may
// start, and of its slowdowns there the least and the greatest.
func toldAdvice(advice *slurm.Advice, list string) string {
	excluded := "no node excluded"
	if list != "" {
		excluded = "excluding " + list
	}
	names, err := hostlist.Expand(list)
	closed := func(c *slurm.Candidate) bool { return err == nil && slices.Contains(names, c.Node) }
	equal := slices.DeleteFunc(advice.Fitting(), closed)
	open := slices.Concat(equal, slices.DeleteFunc(advice.Partly(), closed))
	if len(equal) < advice.Nodes && !advice.Spread(open) {
		return fmt.Sprintf("%s: no room now, %s", advice.Application, excluded)
	}
	var nodes []string
	for _, c := range open {
		nodes = append(nodes, c.Node)
	}
	where := "on " + strings.Join(nodes, ",")
	if len(open) > advice.Nodes {
		where = fmt.Sprintf("on whichever of %s Slurm chooses", hostlist.Compress(nodes))
	}
	if advice.Copies > 1 {
		where = fmt.Sprintf("each of %d tasks beside those who are there now, %s", advice.Copies, where)
	}
	slowdown, unknown := toldSlowdown(open)
	switch {
	case slowdown == "":
		where = "not known " + where
	case unknown != "":
		where = fmt.Sprintf("%s %s, not known on %s", slowdown, where, unknown)
	default:
		where = slowdown + " " + where
	}
	return fmt.Sprintf("%s: %s, %s", advice.Application, where, excluded)
}

// toldSlowdown returns the least and the greatest slowdown on nodes, empty where none is
// known, and the nodes on which it is not known, as a host list.
func toldSlowdown(nodes []*slurm.Candidate) (slowdown, unknown string) {
	var known []units.Slowdown
	var others []string
	for _, c := range nodes {
		if c.IsKnown() {
			known = append(known, c.Slowdown)
		} else {
			others = append(others, c.Node)
		}
	}
	if len(known) > 0 {
		slowdown = slices.Min(known).String()
		if most := slices.Max(known).String(); most != slowdown {
			slowdown += " to " + most
		}
	}
	return slowdown, hostlist.Compress(others)
}

// readScript reads as much of a script as its #SBATCH lines may take.
func readScript(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const most = 1 << 20
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", report.SanitizeText(name)))
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// become replaces this process by a command of Slurm: output, terminal, signals
// and exit code are the command's own.
func become(command string, args []string) error {
	path, err := exec.LookPath(command)
	if err != nil {
		return fmt.Errorf("%s: %w", command, slurm.ErrNotInstalled)
	}
	err = unix.Exec(path, append([]string{command}, args...), os.Environ())
	return fmt.Errorf("starting %s: %w", path, err)
}
