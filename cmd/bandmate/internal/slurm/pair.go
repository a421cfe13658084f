package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/pair"
)

type slurmPairFlags struct {
	slurmFlags

	partition string
	apply     bool
}

// slurmPairResult is `slurm pair -o json`.
type slurmPairResult struct {
	*pair.Plan

	// Commands are the scontrol commands, planned or executed.
	Commands []string `json:"commands"`
	// Applied is true when all of them were executed without an error.
	Applied  bool     `json:"applied"`
	Warnings []string `json:"warnings"`
}

func newSlurmPairCommand(a *cli.App) *cobra.Command {
	var f slurmPairFlags
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Pair the pending jobs that slow each other down least",
		Long: `Divides the waiting jobs into pairs so that the sum of all slowdowns is the least
possible, and gives every pair empty nodes. It is for partitions in which two jobs
share whole nodes, as with OverSubscribe=FORCE:2. Only jobs of the same
partitions, features and number of nodes are paired, for nodes of one machine;
held and dependent jobs, arrays, parts of heterogeneous jobs, jobs whose user
chose nodes and those that share no nodes are left out.

It prints scontrol commands that a shell can run, or runs them with --apply.
They set ReqNodeList: the pair then waits for exactly these nodes. With --limit
as few pairs as possible exceed it; the exit code is 5 if any does.`,
		Example: `  bandmate slurm pair --partition share
  bandmate slurm pair --partition share --apply
  bandmate slurm pair --limit 1.2 -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runPair(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	f.addReading(flags)
	flags.StringVarP(&f.partition, "partition", "p", "", "only the jobs of this partition")
	flags.BoolVar(&f.apply, "apply", false, "run the commands")
	f.limit.Add(flags, "limit", "slowdown that as few pairs as possible may exceed, for example 1.2")
	completePartition(cmd)
	return cmd
}

func runPair(ctx context.Context, a *cli.App, f slurmPairFlags) error {
	advisor, err := newAdvisor(a, f.slurmFlags)
	if err != nil {
		return err
	}
	c, err := newReader(f.slurmFlags).Read(ctx)
	if err != nil {
		return err
	}
	if _, ok := c.Partition(f.partition); !ok && f.partition != "" {
		return cli.Usagef("--partition %s: the cluster has no such partition, see sinfo", f.partition)
	}
	planner := pair.Planner{Site: advisor.Site, Advisor: advisor.Advisor, Partition: f.partition, Limit: f.limit.Slowdown}
	plan, err := planner.Plan(ctx, c)
	if err != nil {
		return err
	}
	result := slurmPairResult{Plan: plan, Commands: []string{}, Warnings: append([]string{}, c.Warnings...)}
	for _, p := range plan.Pairs {
		for _, arguments := range p.Commands() {
			result.Commands = append(result.Commands, shellLine(arguments))
		}
	}
	if f.apply {
		err = applyPairs(ctx, slurm.Commands{Timeout: f.timeout}, plan)
		result.Applied = err == nil
	}
	if printing := a.PrintWhole(result, func(w io.Writer) error { return writePairs(a, w, result) }); printing != nil {
		return errors.Join(err, printing)
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	if err == nil && plan.OverLimit > 0 {
		err = fmt.Errorf("%w: %d of %d pairs exceed %s, and no pairing has fewer", cli.ErrLimit, plan.OverLimit, len(plan.Pairs), f.limit.Slowdown.Exact())
	}
	return err
}

// shellLine is a scontrol command for a shell. Job ids and node names need no
// quotes but for the brackets.
func shellLine(arguments []string) string {
	words := []string{"scontrol"}
	for _, word := range arguments {
		if strings.ContainsAny(word, "[]") {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// timeToGiveBack bounds giving nodes back.
const timeToGiveBack = 30 * time.Second

// applyPairs tells Slurm. A pair of which one job cannot be sent keeps the
// other where it would have gone anyway: that one's nodes are given back, and those of a
// job of which nobody knows whether it was sent. When slurmctld does not answer, the
// pairs after it are not tried.
func applyPairs(ctx context.Context, runner slurm.Runner, plan *pair.Plan) error {
	var faults []error
	for _, p := range plan.Pairs {
		for i, arguments := range p.Commands() {
			_, err := runner.Run(ctx, "scontrol", arguments...)
			if err == nil {
				continue
			}
			faults = append(faults, fmt.Errorf("%s: %w", shellLine(arguments), err))
			if !slurm.Unanswered(err) {
				faults = append(faults, giveBack(ctx, runner, p.Jobs[:i]))
				break
			}
			return errors.Join(append(faults, giveBack(ctx, runner, p.Jobs[:i+1]))...)
		}
	}
	return errors.Join(faults...)
}

// giveBack lets jobs start on other nodes again, also after ctx has ended.
func giveBack(ctx context.Context, runner slurm.Runner, jobs []pair.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToGiveBack)
	defer cancel()
	var faults []error
	for _, j := range jobs {
		if _, err := runner.Run(ctx, "scontrol", "update", "JobId="+j.ID, "ReqNodeList="); err != nil {
			faults = append(faults, fmt.Errorf("giving back the nodes of job %s: %w", j.ID, err))
		}
	}
	return errors.Join(faults...)
}

// writePairs prints the plan so that a shell can run it: everything but the
// commands is a comment. Comments are folded on a terminal, commands never are.
func writePairs(a *cli.App, w io.Writer, r slurmPairResult) error {
	var b strings.Builder
	comment := func(format string, args ...any) { b.WriteString(jobComment(a, fmt.Sprintf(format, args...))) }
	for _, p := range r.Pairs {
		where := "no empty node now"
		if len(p.Nodes) > 0 {
			where = "on " + strings.Join(p.Nodes, ",")
		}
		comment("%s %s %s with %s %s %s, %s",
			p.Jobs[0].ID, report.SanitizeText(p.Jobs[0].Application), p.Jobs[0].Slowdown,
			p.Jobs[1].ID, report.SanitizeText(p.Jobs[1].Application), p.Jobs[1].Slowdown, where)
		for _, arguments := range p.Commands() {
			b.WriteString(shellLine(arguments) + "\n")
		}
	}
	for _, j := range r.Alone {
		comment("%s %s stays alone", j.ID, report.SanitizeText(j.Application))
	}
	for _, e := range r.LeftOut {
		comment("%s is left out: %s", e.Job, report.SanitizeText(e.Reason))
	}
	if len(r.Pairs) == 0 {
		comment("no jobs to pair")
	} else {
		comment("sum of slowdowns: this pairing %.2f, greedy %.2f, random %.2f on average", r.TotalSlowdown, r.Greedy, r.Random)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// jobComment is text on one line as a comment of a shell, on more lines where the
// terminal is too narrow for it.
func jobComment(a *cli.App, text string) string {
	const lead = "# "
	if cli.IsTerminal(a.Stdout) {
		o := a.Canvas()
		o.Width -= len(lead)
		text = report.Fold(text, o)
	}
	return lead + strings.ReplaceAll(text, "\n", "\n"+lead) + "\n"
}
