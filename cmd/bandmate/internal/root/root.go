package root

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/advise"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cluster"
	"bandmate.dev/bandmate/cmd/bandmate/internal/demo"
	"bandmate.dev/bandmate/cmd/bandmate/internal/measure"
	"bandmate.dev/bandmate/cmd/bandmate/internal/models"
	"bandmate.dev/bandmate/cmd/bandmate/internal/observe"
	"bandmate.dev/bandmate/cmd/bandmate/internal/slurm"
	"bandmate.dev/bandmate/report"
)

// New is the root command, with all other commands below it.
func New(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "bandmate",
		Short: "How much will two jobs slow each other down through memory bandwidth?",
		Long: `Bandmate predicts how much two jobs will slow each other down before they share
a memory system. It measures an application once, alone and beside a synthetic
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
			return cli.Usagef("unknown command %q%s", args[0], cli.DidYouMean(args[0], commandNames(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if a.Plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl bandmate"}
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", report.DefaultWidth)))
	root.SetOut(a.Help())
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVarP(&a.Format, "output", "o", cli.FormatText, "output format: text, json, yaml (and csv where rows make sense)")
	root.PersistentFlags().StringVar(&a.StoreDir, "store", "", "folder of profiles (default $BANDMATE_STORE, else the XDG data folder)")
	root.PersistentFlags().BoolVarP(&a.Quiet, "quiet", "q", false, "no progress")
	root.PersistentFlags().StringVar(&a.ConfigFile, cli.ConfigFlag, "", "file of settings (default bandmate/config.yaml in the XDG configuration folder)")
	addCommands(a, root)
	a.SettleBeforeArgs(root)
	a.CompleteFlags(root)
	fitHelp(root)
	refuseUnknown(root)
	return root
}

// refuseUnknown has the commands that cobra makes refuse what they do not know.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(cmd *cobra.Command, args []string) error {
				of, rest, err := cmd.Root().Find(args)
				if err == nil && len(rest) > 0 && of.HasSubCommands() {
					err = fmt.Errorf("unknown command %q%s", rest[0], cli.DidYouMean(rest[0], commandNames(of)))
				}
				if err != nil {
					return cli.UsageError(err)
				}
				return nil
			}
		case "completion":
			c.Args = func(cmd *cobra.Command, args []string) error {
				shells := commandNames(cmd)
				if len(args) == 0 {
					return cli.Usagef("want one of %s", strings.Join(shells, ", "))
				}
				return cli.Usagef("unknown shell %q%s", args[0], cli.DidYouMean(args[0], shells))
			}
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// addCommands adds the commands in groups, those of every day first.
func addCommands(a *cli.App, root *cobra.Command) {
	cobra.EnableCommandSorting = false
	machine, profiles := measure.NewMachine(a), advise.NewProfiles(a)
	machine.AddCommand(models.NewMachineNetwork(a))
	profiles.AddCommand(measure.NewContentiousness(a))
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"daily", "Every day:", []*cobra.Command{
			advise.NewPredict(a), cluster.WithKubernetes(a, measure.NewOnboard(a)), advise.NewMatrix(a), advise.NewPair(a), advise.NewReport(a),
		}},
		{"start", "To begin with:", []*cobra.Command{demo.New(a), measure.NewDoctor(a), machine}},
		{"profiles", "Profiles and predictions:", []*cobra.Command{profiles, advise.NewServe(a), advise.NewEvaluate(a)}},
		{"clusters", "Kubernetes and Slurm:", []*cobra.Command{
			cluster.NewWhatIf(a), cluster.NewExplain(a), cluster.NewApply(a), cluster.NewAgent(a), slurm.NewCommand(a),
		}},
		{"measuring", "Measuring by hand:", []*cobra.Command{measure.NewMeasure(a), observe.NewCommand(a), measure.NewInterfere(a)}},
		{"program", "This program:", []*cobra.Command{cli.NewVersion(a), cli.NewConfig(a)}},
		{"models", "Laboratory of models:", []*cobra.Command{models.NewOverlap(a), models.NewNetwork(a), models.NewCapability(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
		}
		root.AddCommand(group.commands...)
	}
	root.SetHelpCommandGroupID("program")
	root.SetCompletionCommandGroupID("program")
	root.AddCommand(demo.NewSample(a), cluster.NewCopyItself()) // hidden
}

// commandNames returns the names of the commands below cmd that help shows.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagError suggests a flag for one that does not exist, and says what a flag wants.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		err = fmt.Errorf("%w%s", err, cli.DidYouMean("--"+unknown.GetSpecifiedName(), names))
	}
	return cli.UsageError(cli.RefusedValue(err))
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
