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

A name that no command knows is refused, with its line. A name that is both a
command and a flag, such as machine, is the command if it has flags below it.`,
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
		if cmd = childNamed(cmd, word); cmd == nil {
			return nil
		}
	}
	return cmd
}

func (a *App) showConfig(root *cobra.Command, words []string, all bool) error {
	shown := commandNamed(root, words)
	if shown == nil {
		return Usagef("%q: no such command", strings.Join(words, " "))
	}
	c, err := a.configuration(root)
	if err != nil {
		return err
	}
	result := configResult{File: c.path, Found: c.found, Settings: []configSetting{}}
	add := func(cmd *cobra.Command, s setting) {
		words := CommandWords(cmd)
		result.Settings = append(result.Settings, configSetting{
			Command: strings.Join(words, " "), Flag: s.flag.Name, Value: s.text(),
			From: s.from, Place: s.place, Variable: VariableOf(words, s.flag.Name),
		})
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			add(root, a.settled(f))
		}
	})
	var faults []error
	WalkSettings(shown, func(cmd *cobra.Command, f *pflag.Flag) {
		s := c.lookUp(cmd, f)
		if all || shown.HasParent() || s.from != fromDefault {
			add(cmd, s)
		}
		faults = append(faults, s.apply(cmd.Flags())) // no other command runs in this process
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

// settled is the setting of a common flag in this run.
func (a *App) settled(f *pflag.Flag) setting {
	if i := slices.IndexFunc(a.settings, func(s setting) bool { return s.flag == f }); i >= 0 {
		return a.settings[i]
	}
	if f.Changed {
		return setting{f, fromFlag, value{texts: []string{f.Value.String()}}}
	}
	return setting{flag: f, from: fromDefault}
}

// text is the value as the environment would have it.
func (s setting) text() string {
	if s.from != fromDefault {
		return strings.Join(s.texts, ",")
	}
	return strings.TrimSuffix(strings.TrimPrefix(s.flag.DefValue, "["), "]")
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
