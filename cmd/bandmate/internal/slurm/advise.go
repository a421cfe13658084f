package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/store"
)

// adviseFlags say which job is to be placed, and how the answer is printed.
type adviseFlags struct {
	slurmFlags

	job, application, nodes   string
	tasks, cpusPerTask        int
	partition, constraint     string
	memory, gres, reservation string
	timeLimit                 string
	exclude                   string
	exclusive                 bool
	excludeList, noHeader     bool
	pictures                  cli.PictureFlags
}

func newSlurmAdviseCommand(a *cli.App) *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise (--job ID | --application NAME)",
		Short: "Rank the nodes for a job",
		Long: `Ranks the nodes on which a job can run, with its slowdown there, the slowdown
of each resident before and after, the score, and the reason. It calls squeue,
sinfo and scontrol show and changes nothing.

Nodes with room now come first. --exclude-list prints only the nodes that the
job should avoid, for sbatch --exclude: those on which a limit would be
exceeded, and those with room that are worse than the chosen ones, but never
all. With --limit the exit code is 5 if the limit would be exceeded on every
node.

-o takes text, json, yaml or csv, or a format as other commands of Slurm do:
%n node, %d memory domain, %m machine, %s slowdown of the job, %w worst slowdown
of a resident, %N residents, %l residents with their slowdowns, %c score, %v jobs
over their limits, %f free CPUs, %t room now, %x excluded, %R reason; a width and
a dot for alignment to the right as in %.8s.`,
		Example: `  bandmate slurm advise --job 4711
  bandmate slurm advise --application lammps -N 2 -n 16 --limit 1.15
  sbatch --exclude="$(bandmate slurm advise --application lammps -n 8 --exclude-list)" run.sh
  bandmate slurm advise --job 4711 -h -o %n:%.8s:%R
  bandmate slurm advise --job 4711 --svg nodes.svg`,
		Args: cli.WantArgs(cobra.NoArgs, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAdvise(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	f.addExcluding(flags)
	flags.StringVarP(&f.job, "job", "j", "", "job in the queue: ID, ID_TASK or ID+OFFSET (default $SLURM_JOB_ID)")
	flags.StringVarP(&f.application, "application", "a", "", "application of a job that is not in the queue")
	flags.StringVarP(&f.nodes, "nodes", "N", "1", "nodes that the job needs, or a range such as 2-4")
	flags.IntVarP(&f.tasks, "ntasks", "n", 0, "tasks of the job (default: one per node)")
	flags.IntVarP(&f.cpusPerTask, "cpus-per-task", "c", 1, "CPUs of each task")
	flags.StringVarP(&f.partition, "partition", "p", "", "partitions in which the job may run (default: the cluster's default partition)")
	flags.StringVarP(&f.constraint, "constraint", "C", "", "features that the nodes must have")
	flags.StringVar(&f.memory, "mem", "", "memory of the job on each node, for example 4G")
	flags.StringVar(&f.gres, "gres", "", "generic resources of the job on each node, for example gpu:1")
	flags.StringVar(&f.reservation, "reservation", "", "reservation in which the job runs")
	flags.StringVarP(&f.timeLimit, "time", "t", "", "time limit of the job in a form of Slurm, for example 90, 1:30:00 or 2-12")
	flags.StringVarP(&f.exclude, "exclude", "x", "", "nodes that are already excluded")
	flags.BoolVar(&f.exclusive, "exclusive", false, "the job shares no node")
	flags.BoolVar(&f.excludeList, "exclude-list", false, "print only the nodes to exclude, as a host list")
	flags.BoolVarP(&f.noHeader, "noheader", "h", false, "omit the header line")
	flags.StringVar(&f.jobsFile, "squeue", "", "read the jobs from a file that squeue --json wrote")
	flags.StringVar(&f.nodesFile, "sinfo", "", "read the nodes from a file that sinfo --json wrote")
	f.pictures.Add(flags, "the slowdowns")
	completeJob(cmd)
	completePartition(cmd)
	_ = cmd.RegisterFlagCompletionFunc("application", a.CompleteApplications)
	// -h is --noheader here, as everywhere in Slurm.
	flags.Bool("help", false, "help for advise")
	return cli.WithFormats(cmd, cli.FormatCSV, "%")
}

// adviceDocument is `slurm advise -o json`, in the form of Slurm's own answers.
type adviceDocument struct {
	Meta   adviceMeta    `json:"meta"`
	Errors []adviceError `json:"errors"`
	// Advice is absent when there are errors that prevent it.
	Advice      *slurm.Advice `json:"advice,omitempty"`
	ExcludeList *string       `json:"excludeList,omitempty"`
}

type adviceMeta struct {
	Bandmate struct {
		Version string `json:"version"`
	} `json:"bandmate"`
	Slurm struct {
		Release string `json:"release,omitempty"`
		Cluster string `json:"cluster,omitempty"`
	} `json:"slurm"`
}

type adviceError struct {
	Error string `json:"error"`
	// ExitCode is the command's.
	ExitCode int `json:"exitCode"`
}

func runAdvise(ctx context.Context, a *cli.App, f adviseFlags) error {
	structured := a.Format == cli.FormatJSON || a.Format == cli.FormatYAML
	if err := f.pictures.Check(); err != nil {
		return err
	}
	by, err := advice(ctx, a, f)
	advice := by.Advice
	if err == nil {
		err = checkAdvice(advice)
	}
	if advice != nil && f.pictures.Any() {
		if drawErr := a.Draw(advicePlot(by), f.pictures); drawErr != nil || f.pictures.ToStdout() {
			a.Warn(advice.Warnings)
			return errors.Join(drawErr, err)
		}
	}
	switch {
	case advice == nil && (!structured || f.excludeList):
		return err
	case f.excludeList:
		return errors.Join(a.WriteBytes([]byte(advice.ExcludeList()+"\n")), err)
	case !structured:
		text, formatErr := formatAdvice(advice, a.Format, !f.noHeader)
		if formatErr != nil {
			return formatErr
		}
		if a.Format == cli.FormatText && !f.noHeader && cli.IsTerminal(a.Stdout) && report.Widest(string(text)) > a.Canvas().Width {
			return errors.Join(writeNarrowAdvice(a, advice), err)
		}
		if err := a.WriteBytes(text); err != nil {
			return err
		}
		a.Warn(advice.Warnings)
		return err
	}
	return errors.Join(a.Print(newAdviceDocument(advice, by.cluster, err), nil), err)
}

// writeNarrowAdvice prints the usual table for a terminal that is too narrow for it.
func writeNarrowAdvice(a *cli.App, advice *slurm.Advice) error {
	if err := a.Print(nil, func(w io.Writer) error { return narrowAdvice(advice).Write(w, a.Canvas()) }); err != nil {
		return err
	}
	a.Warn(advice.Warnings)
	a.Note("cut to the width of the terminal; whole, and with the residents: -o csv")
	return nil
}

func newAdviceDocument(advice *slurm.Advice, cluster *slurm.Cluster, err error) adviceDocument {
	d := adviceDocument{Errors: []adviceError{}, Advice: advice}
	d.Meta.Bandmate.Version = cli.Version()
	if cluster != nil {
		d.Meta.Slurm.Release, d.Meta.Slurm.Cluster = cluster.Version, cluster.Name
	}
	if advice != nil {
		list := advice.ExcludeList()
		d.ExcludeList = &list
	}
	if err != nil {
		d.Errors = append(d.Errors, adviceError{err.Error(), cli.ExitCode(err)})
	}
	return d
}

// advised is advice, and what it rests on. What is not known is nil.
type advised struct {
	*slurm.Advice

	cluster *slurm.Cluster
	advisor *slurm.Advisor
}

// advice asks Slurm and returns the advice. What it returns beside an error is
// worth printing all the same.
func advice(ctx context.Context, a *cli.App, f adviseFlags) (by advised, err error) {
	name := f.job
	switch {
	case name != "" && f.application != "":
		return by, cli.Usagef("--job and --application: want one of them")
	case (f.jobsFile == "") != (f.nodesFile == ""):
		return by, cli.Usagef("--squeue and --sinfo: want both or none")
	case name == "" && f.application == "":
		if name = a.Env("SLURM_JOB_ID"); name == "" {
			return by, cli.Usagef("want --job ID or --application NAME")
		}
	}
	by.advisor, err = newAdvisor(a, f.slurmFlags)
	if err != nil {
		return by, err
	}
	asked, err := f.asked(userName(a))
	if err != nil {
		return by, err
	}
	by.cluster, err = newReader(f.slurmFlags).Read(ctx)
	if err != nil {
		return by, err
	}
	room, request := slurm.NewRoom(by.cluster), asked.On(asked.Least)
	if name != "" {
		j, err := by.cluster.Job(name)
		if err != nil {
			return by, err
		}
		excluded := request.Excluded
		request = by.advisor.Site.Request(j)
		request.Excluded = append(request.Excluded, excluded...)
		request.Widen(by.cluster, room)
	} else if wide, found := asked.Widest(by.cluster, room); found {
		request = wide
	}
	if request.Application == "" {
		return by, fmt.Errorf("job %s names no application: label it with: scontrol update JobId=%s Comment=bandmate=NAME", name, name)
	}
	by.Advice, err = by.advisor.Advise(by.cluster, request)
	if err != nil {
		return by, err
	}
	return by, checkKnown(by.Advice)
}

// asked returns the job that the flags describe, as if the user submitted it.
func (f *adviseFlags) asked(user string) (slurm.NodeRange, error) {
	least, most, err := slurm.ParseNodes(f.nodes)
	if err != nil {
		return slurm.NodeRange{}, cli.Usagef("--nodes: %w", err)
	}
	if f.tasks < 0 || f.cpusPerTask < 1 {
		return slurm.NodeRange{}, cli.Usagef("-n %d -c %d: want 1 or more of each", f.tasks, f.cpusPerTask)
	}
	if f.tasks > 0 {
		most = max(least, min(most, f.tasks))
	}
	r := slurm.Request{
		Application: f.application, Source: "command line", User: user,
		Features: f.constraint, Exclusive: f.exclusive, Limit: f.limit.Slowdown, Reservation: f.reservation,
	}
	r.SetResources(f.memory, f.gres)
	if f.partition != "" {
		r.Partitions = strings.Split(f.partition, ",")
	}
	if r.TimeLimit, err = slurm.ParseTimeLimit(f.timeLimit); err != nil {
		return slurm.NodeRange{}, cli.Usagef("--time: %w", err)
	}
	if r.Excluded, err = hostlist.Expand(f.exclude); err != nil {
		return slurm.NodeRange{}, cli.Usagef("--exclude: %w", err)
	}
	return slurm.NodeRange{Least: least, Most: most, On: func(nodes int) slurm.Request {
		on := r
		on.Nodes, on.CPUsPerNode = nodes, float64(max(f.tasks, nodes)*f.cpusPerTask)/float64(nodes)
		if f.tasks > nodes {
			on.CPUsPerTask = float64(f.cpusPerTask)
		}
		return on
	}}, nil
}

// checkKnown fails when there is no profile to predict the job with.
func checkKnown(advice *slurm.Advice) error {
	for _, c := range advice.Candidates {
		if c.Score.Newcomer.Known {
			return nil
		}
	}
	reason := "no profile"
	for _, w := range advice.Warnings {
		if rest, ok := strings.CutPrefix(w, advice.Application+": "); ok {
			reason = rest
			break
		}
	}
	return fmt.Errorf("%s: %w: %s", advice.Application, store.ErrNotFound, reason)
}

// mostReasons bounds how many nodes an error names.
const mostReasons = 4

// checkAdvice fails when a limit is exceeded everywhere. The error says for each node
// which job would exceed which limit.
func checkAdvice(advice *slurm.Advice) error {
	if !advice.LimitExceeded || advice.Limit == 0 {
		return nil
	}
	var over []string
	for _, c := range advice.Candidates {
		switch {
		case c.OverLimit > 0:
			over = append(over, c.Node+": "+c.Reason)
		case !c.IsKnown():
			over = append(over, c.Node+": what the job would suffer is not known")
		}
	}
	more := ""
	if len(over) > mostReasons {
		more = fmt.Sprintf("; and on %s more: see bandmate slurm advise", text.Count(len(over)-mostReasons, "node"))
		over = over[:mostReasons]
	}
	needs := "no node keeps"
	if advice.Nodes > 1 {
		needs = fmt.Sprintf("fewer than %d nodes keep", advice.Nodes)
	}
	if len(over) == 0 {
		return fmt.Errorf("%w: there is room for fewer of the %d tasks within it than can start now: submit them one by one, or bound them, as in --array=0-9%%1",
			cli.ErrLimit, advice.Copies)
	}
	remedy := ""
	if slices.ContainsFunc(advice.Candidates, func(c slurm.Candidate) bool { return c.Together > 0 }) {
		remedy = "; one list of excluded nodes serves all tasks of an array: submit them one by one, or bound them, as in --array=0-9%1"
	}
	return fmt.Errorf("%w: %s to it: %s%s%s", cli.ErrLimit, needs, strings.Join(over, "; "), more, remedy)
}
