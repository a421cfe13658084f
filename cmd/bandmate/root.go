package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/advise"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cluster"
	"bandmate.dev/bandmate/cmd/bandmate/internal/measure"
	"bandmate.dev/bandmate/cmd/bandmate/internal/models"
	"bandmate.dev/bandmate/cmd/bandmate/internal/slurm"
	"bandmate.dev/bandmate/report"
)

func newRootCommand(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "bandmate",
		Short: "How much will two jobs slow each other down through memory bandwidth?",
		Long: `Bandmate tells, before two jobs share a memory system, how much each will slow
the other down. It measures an application once, alone and beside a synthetic
interferer, and predicts any co-location from that.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such profile, 4 not measurable
here (permission or hardware), 5 a limit the caller set is exceeded, 130
interrupted.`,
		Example: `  bandmate demo
  bandmate onboard xz -- xz -9 -k -c big.tar
  bandmate predict xz sqlite`,
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
			}
			return cli.Usagef("unknown command %q%s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if a.Plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl bandmate"}
	}
	root.SuggestionsMinimumDistance = 2
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", report.DefaultWidth)))
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.UsageError(err) })
	root.PersistentFlags().StringVarP(&a.Format, "output", "o", cli.FormatText, "output format: text, json, yaml (and csv where rows make sense)")
	root.PersistentFlags().StringVar(&a.StoreDir, "store", "", "folder of profiles (default $BANDMATE_STORE, else the XDG data folder)")
	root.PersistentFlags().BoolVarP(&a.Quiet, "quiet", "q", false, "no progress")
	root.PersistentFlags().StringVar(&a.ConfigFile, cli.ConfigFlag, "", "file of settings (default bandmate/config.yaml in the XDG configuration folder)")
	machine, profiles := measure.NewMachine(a), advise.NewProfiles(a)
	machine.AddCommand(models.NewMachineNetwork(a))
	profiles.AddCommand(measure.NewContentiousness(a))
	root.AddCommand(
		measure.NewDemo(a), measure.NewDoctor(a), machine, cluster.WithKubernetes(a, measure.NewOnboard(a)),
		measure.NewMeasure(a), measure.NewObserve(a), measure.NewInterfere(a), advise.NewPredict(a), advise.NewMatrix(a),
		profiles, measure.NewSample(a),
		advise.NewEvaluate(a), advise.NewPair(a),
		cluster.NewApply(a), cluster.NewCopyItself(), cluster.NewAgent(a), cluster.NewExplain(a), cluster.NewWhatIf(a), slurm.NewCommand(a),
		models.NewOverlap(a), models.NewNetwork(a), models.NewCapability(a), advise.NewReport(a), advise.NewServe(a), cli.NewConfig(a),
	)
	a.SettleBeforeArgs(root)
	a.CompleteFlags(root)
	fitHelp(root)
	return root
}

// fitHelp has the prose of help texts fit into the width of pictures; a paragraph
// with lines that are indented stays as it is.
func fitHelp(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, text := range paragraphs {
		if !strings.Contains("\n"+text, "\n ") {
			paragraphs[i] = strings.TrimSuffix(report.Paragraph("", text, report.Options{Unicode: true}), "\n")
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, child := range cmd.Commands() {
		fitHelp(child)
	}
}
