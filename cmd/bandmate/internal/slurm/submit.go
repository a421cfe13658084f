package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm"
)

func newSlurmSubmitCommand(a *cli.App) *cobra.Command {
	var f slurmFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "submit [flags] -- [sbatch|srun|salloc] ARGS...",
		Short: "Submit a job that excludes the nodes where it should not run",
		Long: `Asks for advice, adds --exclude to the command line, never of all nodes, and
becomes sbatch, or the command that ARGS begin with: its output and exit code are
that command's. What the user excluded stays excluded. The application, nodes,
tasks, partition and so on are taken from ARGS, the environment, and the #SBATCH
lines of the script.

Where there is no advice, as for applications without a profile, jobs that name
their nodes, steps inside a job, or while slurmctld does not answer, the job is
submitted as it is, and the reason told. But with --limit nothing is submitted of
which it is not known that the limit will be kept; the exit code is then 5 if it
would be exceeded everywhere.`,
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
	case err != nil && f.limit != 0:
		return fmt.Errorf("not submitted, for it is not known that the limit would be kept: %w", err)
	case errors.Is(err, slurm.ErrNotAdvised):
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
	submission, err := slurm.ParseSubmission(command, args, a.Env, readScript)
	if err != nil {
		return nil, err
	}
	advisor, err := newAdvisor(a, f)
	if err != nil {
		return nil, err
	}
	cluster, err := newReader(f).Read(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([]string, len(submission.Components))
	for i := range submission.Components {
		request, err := advisor.Site.RequestOf(&submission.Components[i], a.Env("USER"))
		if err != nil {
			return nil, err
		}
		if request.Application == "" {
			return nil, fmt.Errorf("the job names no application: label it with --comment %s=NAME", slurm.ApplicationWord)
		}
		advice, err := advisor.Advise(cluster, request)
		if err == nil {
			err = errors.Join(checkKnown(advice), checkAdvice(advice))
		}
		if err != nil {
			return nil, err
		}
		lists[i] = advice.ExcludeList()
		a.Note(toldAdvice(advice))
		// The next component finds this one in place.
		cluster = cluster.With(placed(advice, request))
	}
	return submission.WithExcluded(lists), nil
}

// placed is a job of the request on the nodes that were chosen for it.
func placed(advice *slurm.Advice, r slurm.Request) slurm.Job {
	return slurm.Job{
		ID: -1, State: slurm.Running, Comment: slurm.ApplicationWord + "=" + r.Application, Exclusive: r.Exclusive,
		Nodes: advice.Chosen, NodeCount: len(advice.Chosen), CPUs: int(r.CPUsPerNode * float64(len(advice.Chosen))),
	}
}

// toldAdvice is one line for standard error.
func toldAdvice(advice *slurm.Advice) string {
	best := advice.Candidates[0]
	excluded := "no node excluded"
	if list := advice.ExcludeList(); list != "" {
		excluded = "excluding " + list
	}
	if len(advice.Chosen) == 0 {
		return fmt.Sprintf("%s: no room now, %s", advice.Application, excluded)
	}
	return fmt.Sprintf("%s: %s on %s, %s", advice.Application, best.Slowdown, strings.Join(advice.Chosen, ","), excluded)
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
