// Package slurm has the commands that advise a Slurm cluster.
package slurm

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
)

// NewCommand returns the command slurm.
func NewCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slurm",
		Short: "Advise, submit and place jobs of a Slurm cluster",
		Long: `Reads from Slurm which jobs run where, and finds the nodes on which a job and
its neighbors would slow each other down least. No privileges are needed, and
slurmctld is not changed.

The comment of a job names its application, --comment "bandmate=NAME", or else
the site file does, or else the job's name. The comment may also set a limit of
the job's slowdown: "bandmate=NAME bandmate-limit=1.15". The features of a node
name its machine and its memory domain: bandmate-machine=NAME,
bandmate-domain=NAME.`,
		Example: `  bandmate slurm advise --job 4711
  bandmate slurm submit -- --comment bandmate=lammps -n 8 run.sh`,
		Args: cli.WantArgs(cobra.NoArgs, "a command: advise, submit, watch, pair, onboard"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSlurmAdviseCommand(a), newSlurmSubmitCommand(a),
		newSlurmWatchCommand(a), newSlurmPairCommand(a), newSlurmOnboardCommand(a),
	)
	return cmd
}

// slurmFlags say how to read a cluster and how to judge.
type slurmFlags struct {
	timeout   time.Duration
	site      string
	limit     cli.Limit
	objective string
	unknown   string
	domain    string
	tolerance float64
	// jobsFile and nodesFile replace the calls of squeue and sinfo.
	jobsFile, nodesFile string
}

// addReading defines the flags of all commands that read a cluster.
func (f *slurmFlags) addReading(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, "timeout", slurm.DefaultTimeout, "maximum time of each Slurm command")
	flags.StringVar(&f.site, "site", "", "file of applications, machines and memory domains (default $BANDMATE_SLURM_SITE)")
}

// addJudging defines the flags of the commands that choose nodes.
func (f *slurmFlags) addJudging(flags *pflag.FlagSet) {
	f.addReading(flags)
	f.limit.Add(flags, "limit", "slowdown that neither the job nor its neighbors may exceed, for example 1.15")
	flags.StringVar(&f.objective, "objective", string(score.AddedCost), "objective of a placement: added-cost or worst-slowdown")
	cli.Values(flags, "objective", string(score.AddedCost), string(score.WorstSlowdown))
	flags.StringVar(&f.unknown, "unknown", string(score.Ignore), "jobs without a profile: ignore, avoid, or the traffic to assume, for example 10GB/s,75%")
	cli.Values(flags, "unknown", string(score.Ignore), string(score.Avoid))
}

// addExcluding defines the flags of the commands that exclude nodes for one job.
func (f *slurmFlags) addExcluding(flags *pflag.FlagSet) {
	f.addJudging(flags)
	flags.StringVar(&f.domain, "domain", "node", "memory domain if no feature defines it: node or socket")
	cli.Values(flags, "domain", "node", "socket")
	flags.Float64Var(&f.tolerance, "tolerance", 0, "how much worse than the best node, in slowdown, a node may be without being excluded")
}

// options returns what the advice is judged by.
func (f *slurmFlags) options() (slurm.Options, error) {
	o := slurm.Options{
		Score: score.Options{Objective: score.Objective(f.objective), Unknown: score.Policy(f.unknown)},
		Limit: f.limit.Slowdown, Tolerance: f.tolerance,
	}
	switch f.domain {
	case "", "node":
	case "socket":
		o.Sockets = true
	default:
		return o, cli.Usagef("--domain %q: want node or socket", f.domain)
	}
	if err := f.limit.Check(); err != nil {
		return o, err
	}
	if strings.Contains(f.unknown, ",") {
		traffic, err := slurm.ParseTraffic(f.unknown)
		if err != nil {
			return o, cli.Usagef("--unknown: %w", err)
		}
		o.Score.Unknown = score.Assume
		if o.Score.StandIn, err = predictor.Assumed("assumed", traffic); err != nil {
			return o, cli.Usagef("--unknown: %w", err)
		}
	} else if f.unknown != "" && f.unknown != string(score.Ignore) && f.unknown != string(score.Avoid) {
		return o, cli.Usagef("--unknown %q: want ignore, avoid, or the traffic to assume, such as 10GB/s,75%%", f.unknown)
	}
	if err := o.Validate(); err != nil {
		return o, cli.UsageError(err)
	}
	return o, cli.CheckDuration("--timeout", f.timeout)
}

// newAdvisor loads what advice rests upon.
func newAdvisor(a *cli.App, f slurmFlags) (*slurm.Advisor, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	site, err := loadSite(a, f.site)
	if err != nil {
		return nil, err
	}
	known, err := loadProfiles(a)
	if err != nil {
		return nil, err
	}
	return &slurm.Advisor{Site: site, Advisor: known, Options: options}, nil
}

// loadSite reads the site file, if one is named.
func loadSite(a *cli.App, name string) (*slurm.Site, error) {
	if name == "" {
		name = a.Env("BANDMATE_SLURM_SITE")
	}
	if name == "" {
		return &slurm.Site{}, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("site file: %w", err)
	}
	site, err := slurm.ParseSite(data)
	if err != nil {
		return nil, fmt.Errorf("%w", &fs.PathError{Op: "read", Path: name, Err: err})
	}
	return site, nil
}

// loadProfiles returns an advisor on the store. Files that cannot be read hide none of
// the others; they become warnings.
func loadProfiles(a *cli.App) (*advisor.Advisor, error) {
	known, err := a.LoadAdvisor()
	if err != nil {
		return nil, err
	}
	warnBroken(a, known)
	return known, nil
}

func warnBroken(a *cli.App, known *advisor.Advisor) {
	for _, fault := range known.Broken() {
		a.Warn([]string{fault.Error()})
	}
}

// newReader is how the cluster is read.
func newReader(f slurmFlags) slurm.Reader {
	return slurm.Reader{
		Runner:   slurm.Commands{Timeout: f.timeout},
		JobsFile: f.jobsFile, NodesFile: f.nodesFile,
	}
}
