package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	slurmfiles "bandmate.dev/bandmate/manifests/slurm"
)

type slurmOnboardFlags struct {
	partition, constraint, nodelist, time string
	sbatch, options                       []string
	resume, dryRun                        bool
}

func newSlurmOnboardCommand(a *cli.App) *cobra.Command {
	var f slurmOnboardFlags
	cmd := &cobra.Command{
		Use:   "onboard NAME -- CMD...",
		Short: "Submit a job that onboards an application on a whole node",
		Long: `Submits a batch job that allocates a whole node and runs bandmate onboard
there: the application on one socket and the interferer on another, when the
node has two. The job's application, bandmate, and the --store have to be on a
file system that the node sees too. The machine is named by the node's feature
bandmate-machine=NAME, else by the node.

What sbatch prints, and its exit code, are passed on. The script is shipped as
onboard.sbatch, for sites that want to change it. A job that its time limit ended
is continued by --resume.`,
		Example: `  bandmate slurm onboard lammps -- lmp -in in.lj
  bandmate slurm onboard lammps -C bandmate-machine=blade --option=--read-share=50%,100% -- lmp -in in.lj`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return cli.Usagef("%s: want NAME -- CMD ARGS", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runOnboard(a, args[0], args[1:], f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.partition, "partition", "p", "", "partition of the job")
	completePartition(cmd)
	flags.StringVarP(&f.constraint, "constraint", "C", "", "features that the node must have")
	flags.StringVarP(&f.nodelist, "nodelist", "w", "", "the node to run on")
	flags.StringVarP(&f.time, "time", "t", "", "time limit of the job (default: the partition's)")
	flags.StringArrayVar(&f.sbatch, "sbatch", nil, "additional argument for sbatch, for example --sbatch=--account=physics; repeatable")
	flags.StringArrayVar(&f.options, "option", nil, "additional flag for bandmate onboard, for example --option=--iterations=3; repeatable")
	flags.BoolVar(&f.resume, "resume", false, "continue with the samples of an interrupted job")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the command line, one word per line, and submit nothing")
	return cmd
}

func runOnboard(a *cli.App, name string, command []string, f slurmOnboardFlags) error {
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return cli.Usagef("application name %q: %s", name, faults[0])
	}
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	if f.dryRun {
		words := append([]string{"sbatch"}, f.arguments("onboard.sbatch", folder.Dir(), name, command)...)
		return a.WriteBytes([]byte(strings.Join(words, "\n") + "\n"))
	}
	script, err := passedOn("onboard.sbatch", slurmfiles.OnboardScript)
	if err != nil {
		return err
	}
	return become("sbatch", f.arguments(script, folder.Dir(), name, command))
}

// arguments are those of sbatch.
func (f slurmOnboardFlags) arguments(script, folder, name string, command []string) []string {
	var arguments []string
	for _, flag := range []struct{ name, value string }{
		{"partition", f.partition}, {"constraint", f.constraint}, {"nodelist", f.nodelist}, {"time", f.time},
	} {
		if flag.value != "" {
			arguments = append(arguments, "--"+flag.name+"="+flag.value)
		}
	}
	arguments = append(arguments, f.sbatch...)
	arguments = append(arguments, script, name, "--store="+folder)
	if f.resume {
		arguments = append(arguments, "--resume")
	}
	return slices.Concat(arguments, f.options, []string{"--"}, command)
}

// passedOn returns the name under which a program that takes the place of this
// one finds the data. There is nothing to remove afterwards.
func passedOn(name string, data []byte) (string, error) {
	descriptor, err := unix.MemfdCreate(name, 0)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	for len(data) > 0 {
		n, err := unix.Write(descriptor, data)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		data = data[n:]
	}
	// Not closed: the next program reads it.
	return fmt.Sprintf("/proc/self/fd/%d", descriptor), nil
}
