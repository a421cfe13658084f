// Package cli holds what the commands of bandmate share: streams, output formats, exit
// codes, settings, groups of flags, output files, pictures and progress.
package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
)

// App is the state that all commands share.
type App struct {
	Stdout, Stderr io.Writer
	Env            func(string) string

	Format     string
	StoreDir   string
	ConfigFile string
	Quiet      bool
	// settings are of the flags that the environment and the file gave.
	settings map[*pflag.Flag]setting
	help     checkedOutput
	// saveKept is set once profiles were loaded.
	saveKept func()
	// Plugin is true when kubectl runs this program, as kubectl-bandmate.
	Plugin bool
}

// Output formats.
const (
	FormatText = "text"
	FormatJSON = "json"
	FormatYAML = "yaml"
	FormatCSV  = "csv"
)

// WantArgs returns check with its errors turned into usage errors, which say what was
// wanted.
func WantArgs(check cobra.PositionalArgs, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usagef("want %s", usage)
		}
		return nil
	}
}

// formats is the annotation of a command that names the formats it has beside text,
// JSON and YAML.
const formats = "formats"

// WithFormats declares formats that a command has beside text, JSON and YAML.
func WithFormats(cmd *cobra.Command, extra ...string) *cobra.Command {
	cmd.Annotations = map[string]string{formats: strings.Join(extra, " ")}
	return cmd
}

func knownFormats(cmd *cobra.Command) []string {
	return append([]string{FormatText, FormatJSON, FormatYAML}, strings.Fields(cmd.Annotations[formats])...)
}

// checkFormat refuses formats that a command does not have. A command that redefines
// --output checks it itself, and so does one that takes formats with a %.
func (a *App) checkFormat(cmd *cobra.Command) error {
	if cmd.Flags().Lookup("output") != cmd.Root().PersistentFlags().Lookup("output") {
		return nil
	}
	known := knownFormats(cmd)
	if slices.Contains(known, a.Format) || slices.Contains(known, "%") && strings.Contains(a.Format, "%") {
		return nil
	}
	return Usagef("-o %s: want one of %s", a.Format, strings.Join(known, ", "))
}

// SettleBeforeArgs makes every command settle its flags, and check its output format,
// after the command line is parsed and before its arguments are checked.
func (a *App) SettleBeforeArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := a.Settle(cmd); err != nil {
			return err
		}
		if err := a.checkFormat(cmd); err != nil {
			return err
		}
		return check(cmd, args)
	}
	for _, child := range cmd.Commands() {
		a.SettleBeforeArgs(child)
	}
}

// Help is standard output for help texts and completion scripts, whose writers ignore
// errors: HelpError returns them.
func (a *App) Help() io.Writer {
	a.help.to = a.Stdout
	return &a.help
}

// HelpError returns the first error of writing to Help.
func (a *App) HelpError() error { return a.help.err }

// checkedOutput keeps the first error of writing to the standard output of an App.
type checkedOutput struct {
	to  io.Writer
	err error
}

func (c *checkedOutput) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("writing the result: %w", err)
	}
	return n, err
}

// Print writes v as JSON or YAML, or calls text, whose lines it folds on a terminal.
func (a *App) Print(v any, text func(io.Writer) error) error {
	return a.PrintWhole(v, a.folded(text))
}

// PrintWhole is Print for text with lines that users paste: it does not fold them.
func (a *App) PrintWhole(v any, text func(io.Writer) error) error {
	switch a.Format {
	case FormatJSON:
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
		return a.WriteBytes(append(data, '\n'))
	case FormatYAML:
		data, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
		return a.WriteBytes(data)
	}
	var b bytes.Buffer
	if err := text(&b); err != nil {
		return err
	}
	return a.WriteBytes(b.Bytes())
}

// WriteBytes writes data to standard output.
func (a *App) WriteBytes(data []byte) error {
	if _, err := a.Stdout.Write(data); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// OpenStore opens the profile folder.
func (a *App) OpenStore() (*store.Store, error) {
	dir := a.StoreDir
	if dir == "" {
		var err error
		if dir, err = store.DefaultDir(a.Env); err != nil {
			return nil, err
		}
	}
	return store.Open(dir)
}

// NoProfiles is the error of a command that needs a profile, for a store without any.
func (a *App) NoProfiles() error {
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	return fmt.Errorf("the store %s has no profiles", s.Dir())
}

// LoadApplication returns the profile of an application; one measured on
// another machine than asked for does not count.
func LoadApplication(s *store.Store, name, machine string) (*v1alpha1.ApplicationProfile, error) {
	p, err := s.Application(name, machine)
	if err != nil {
		return nil, err
	}
	if machine != "" && p.Spec.Machine.Name != machine {
		return nil, fmt.Errorf("%s on machine %q: %w: it was measured on %s", name, machine, store.ErrNotFound, p.Spec.Machine.Name)
	}
	return p, nil
}

// describeStore says which store was asked and what is in it, in one line.
func (a *App) describeStore() string {
	s, err := a.OpenStore()
	if err != nil {
		return "see what there is with: bandmate profiles list"
	}
	if _, err := os.Stat(s.Dir()); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("the store %s does not exist yet: make a profile with: bandmate onboard NAME -- CMD; or choose another with --store or BANDMATE_STORE", s.Dir())
	}
	index, _, err := a.loadIndex()
	if err != nil {
		return "see what there is with: bandmate profiles list"
	}
	names, broken := namesOf(index), index.Broken
	said := fmt.Sprintf("the store %s has %s", s.Dir(), text.Count(len(names), "application"))
	switch {
	case len(names) == 0:
		said += ": make a profile with: bandmate onboard NAME -- CMD"
	case len(names) > mostNamed:
		said += ": see them with: bandmate profiles list"
	default:
		said += ": " + strings.Join(names, ", ")
	}
	if len(broken) > 0 {
		said += fmt.Sprintf("; %s cannot be read: bandmate profiles list says why", text.Count(len(broken), "profile"))
	}
	return said
}

// mostNamed is how many applications a message names.
const mostNamed = 8

// Warn prints warnings on standard error.
func (a *App) Warn(warnings []string) {
	o, _ := report.Detect(a.Stderr, a.Env)
	for _, w := range warnings {
		fmt.Fprint(a.Stderr, report.Paragraph("warning: ", w, o))
	}
}

// Note prints a sentence on standard error, except with --quiet.
func (a *App) Note(text string) {
	if !a.Quiet {
		o, _ := report.Detect(a.Stderr, a.Env)
		fmt.Fprint(a.Stderr, report.Paragraph("", text, o))
	}
}

// Canvas is what standard output can show.
func (a *App) Canvas() report.Options {
	o, _ := report.Detect(a.Stdout, a.Env)
	return o
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Complain prints a message on standard error, folded on a terminal.
func (a *App) Complain(message string) {
	if IsTerminal(a.Stderr) {
		o, _ := report.Detect(a.Stderr, a.Env)
		message = report.Fold(message, o)
	}
	fmt.Fprint(a.Stderr, message)
}

// folded breaks long lines of text on a terminal. Elsewhere, where programs may
// read them, they stay whole.
func (a *App) folded(text func(io.Writer) error) func(io.Writer) error {
	if !IsTerminal(a.Stdout) {
		return text
	}
	o := a.Canvas()
	return func(w io.Writer) error {
		var b bytes.Buffer
		if err := text(&b); err != nil {
			return err
		}
		_, err := io.WriteString(w, report.Fold(b.String(), o))
		return err
	}
}

// Notef prints to standard error, except with --quiet.
func (a *App) Notef(format string, args ...any) {
	if !a.Quiet {
		a.Complain(fmt.Sprintf(format, args...))
	}
}
