package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/report"
)

// configResult is `config -o json`.
type configResult struct {
	// File is where settings are read from; Found is false where it is missing.
	File     string          `json:"file"`
	Found    bool            `json:"found"`
	Settings []configSetting `json:"settings"`
}

// configSetting is a flag with its effective value.
type configSetting struct {
	// Command is empty for the flags that all commands have.
	Command string `json:"command"`
	Flag    string `json:"flag"`
	Value   string `json:"value"`
	// From is flag, environment, file or default; Place is the variable, or
	// the file:line:column.
	From  origin `json:"from"`
	Place string `json:"place,omitempty"`
	// Variable is the variable that sets this flag of this command alone.
	Variable string `json:"variable"`
}

// NewConfig returns the config command.
func NewConfig(a *App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "config [COMMAND...]",
		Short: "Show every setting and its origin",
		Long: `Shows the flags that the environment or the configuration file sets, and those
that all commands have; with a COMMAND, or with --all, every flag.

The value of a flag is the one on the command line, else that of the environment,
else that of the configuration file, else the default. This holds for every flag.

The environment variable of --max-slowdown of "bandmate predict" is
BANDMATE_PREDICT_MAX_SLOWDOWN. BANDMATE_MAX_SLOWDOWN holds for every command that
has such a flag, and BANDMATE_SLURM_LIMIT for every command of "bandmate slurm";
the variable nearest to the command counts. An empty variable counts as unset.

The configuration file is --config, else $BANDMATE_CONFIG, else
$XDG_CONFIG_HOME/bandmate/config.yaml, else ~/.config/bandmate/config.yaml. It
holds flags by name, below the command that they belong to; the nearest counts
here too:

  apiVersion: bandmate.dev/v1alpha1
  kind: Configuration
  store: /srv/bandmate/profiles
  machine: node-a
  onboard:
    repeats: 5
    read-share: [50%, 75%, 100%]
  slurm:
    limit: 1.15
    watch:
      mode: observe

An unknown name is an error that gives the line. A name that is both a command
and a flag, such as machine, is the command if it has flags below it.`,
		Example: `  bandmate config
  bandmate config onboard
  bandmate config --all -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.showConfig(cmd.Root(), args, all) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if parent := commandNamed(cmd.Root(), args); parent != nil {
				for _, child := range parent.Commands() {
					if !unsettled(child) {
						names = append(names, child.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every flag of every command")
	return WithFormats(cmd, FormatCSV)
}

// commandNamed returns the command below cmd that the words name; nil without.
func commandNamed(cmd *cobra.Command, words []string) *cobra.Command {
	for _, word := range words {
		children := cmd.Commands()
		i := slices.IndexFunc(children, func(c *cobra.Command) bool { return c.Name() == word && !unsettled(c) })
		if i < 0 {
			return nil
		}
		cmd = children[i]
	}
	return cmd
}

func (a *App) showConfig(root *cobra.Command, words []string, all bool) error {
	shown := commandNamed(root, words)
	if shown == nil {
		return Usagef("%q: no such command", strings.Join(words, " "))
	}
	file, found, err := a.readSettings(root)
	if err != nil {
		return err
	}
	path, _ := a.ConfigPath()
	result := configResult{File: path, Found: found, Settings: []configSetting{}}
	add := func(cmd *cobra.Command, f *pflag.Flag) {
		s, settled := a.settings[f]
		switch {
		case settled:
		case !cmd.HasParent() && f.Changed:
			s = setting{from: fromFlag, texts: []string{f.Value.String()}}
		case !cmd.HasParent() || all || shown.HasParent():
			s = setting{from: fromDefault, texts: []string{strings.Trim(f.DefValue, "[]")}}
		default:
			return
		}
		result.Settings = append(result.Settings, configSetting{
			Command: strings.TrimSuffix(strings.ReplaceAll(keyOf(cmd, ""), ".", " "), " "), Flag: f.Name,
			Value: strings.Join(s.texts, ","), From: s.from, Place: s.place, Variable: VariableOf(cmd, f.Name),
		})
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			add(root, f)
		}
	})
	var faults []error
	WalkSettings(shown, func(cmd *cobra.Command, f *pflag.Flag) {
		// No other command runs in this process: its flags may be set.
		faults = append(faults, a.settle(file, cmd, f))
		add(cmd, f)
	})
	return errors.Join(append([]error{a.printConfig(result)}, faults...)...)
}

// WalkSettings visits the flags that cmd and the commands below it define, and the
// common flags that they redefine.
func WalkSettings(cmd *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	if cmd.HasParent() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if isSetting(f) {
				visit(cmd, f)
			}
		})
	}
	for _, child := range cmd.Commands() {
		if !unsettled(child) {
			WalkSettings(child, visit)
		}
	}
}

func (a *App) printConfig(r configResult) error {
	table := Table("command", "flag", "value", "from", "place")
	for _, s := range r.Settings {
		place := s.Place
		if at, ok := strings.CutPrefix(place, r.File+":"); ok && a.Format == FormatText {
			place = filepath.Base(r.File) + ":" + at
		}
		table.Add(report.Text(s.Command), report.Text("--"+s.Flag), report.Text(s.Value), report.Text(string(s.From)), report.Text(place))
	}
	return a.PrintTable(r, table, func(w io.Writer) error {
		file := report.SanitizeText(r.File)
		switch {
		case r.File == "":
			file = "none: neither HOME nor XDG_CONFIG_HOME is set"
		case !r.Found:
			file += " (missing)"
		}
		fmt.Fprintf(w, "configuration file: %s\n\n", file)
		return table.Write(w, a.Canvas())
	})
}
