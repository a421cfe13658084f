package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ConfigFlag names the configuration file.
const ConfigFlag = "config"

// origin is where the value of a flag comes from, by rising precedence.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "file"
	fromEnvironment origin = "environment"
	fromFlag        origin = "flag"
)

// setting is a flag with its value and where that comes from.
type setting struct {
	flag *pflag.Flag
	from origin
	// place is the variable, or the file:line:column; empty for the others.
	place string
	// texts is what the environment or the file gives.
	texts []string
}

// configuration is what the environment and the file say of flags.
type configuration struct {
	env  func(string) string
	path string
	// found is false where there is no file.
	found bool
	file  *section
}

// ConfigPath returns the configuration file: --config, else $BANDMATE_CONFIG,
// else bandmate/config.yaml in the XDG configuration folder. chosen is false for
// the last, which may be missing; an empty path means that there is none.
func (a *App) ConfigPath() (path string, chosen bool) {
	if a.ConfigFile != "" {
		return a.ConfigFile, true
	}
	if named := a.Env(VariableOf(nil, ConfigFlag)); named != "" {
		return named, true
	}
	// The XDG specification has relative paths ignored.
	if folder := a.Env("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "bandmate", "config.yaml"), false
	}
	if home := a.Env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "bandmate", "config.yaml"), false
	}
	return "", false
}

// configuration reads the file, if there is one, against the commands of root.
func (a *App) configuration(root *cobra.Command) (*configuration, error) {
	path, chosen := a.ConfigPath()
	c := &configuration{env: a.Env, path: path, file: &section{}}
	if path == "" {
		return c, nil
	}
	data, err := readConfiguration(path)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) && !chosen:
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w: name another file with --config, or none with --config /dev/null", err)
	}
	c.found = true
	if c.file, err = ParseConfiguration(path, data, root); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

func readConfiguration(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfigurationBytes+1))
	if err == nil && len(data) > maxConfigurationBytes {
		err = fmt.Errorf("%s: want at most %d bytes", path, maxConfigurationBytes)
	}
	return data, err
}

// lineage is a command with its parents, the root first.
func lineage(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for ; cmd != nil; cmd = cmd.Parent() {
		all = append(all, cmd)
	}
	slices.Reverse(all)
	return all
}

// CommandWords are the names of a command and its parents, without the root's.
func CommandWords(cmd *cobra.Command) []string {
	var words []string
	for _, c := range lineage(cmd)[1:] {
		words = append(words, c.Name())
	}
	return words
}

// VariableOf names the environment variable of a flag: BANDMATE_, the command's
// words and the flag's.
func VariableOf(words []string, flag string) string {
	name := strings.Join(append(append([]string{"bandmate"}, words...), flag), "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// lookUp finds the value of a flag that the command line of cmd leaves out: the
// nearest variable, else the nearest section of the file. A command that has a
// flag of its own in place of a common one does not take the common value.
func (c *configuration) lookUp(cmd *cobra.Command, f *pflag.Flag) setting {
	line := lineage(cmd)
	nearest := len(line) - 1
	first := 0
	for i, parent := range line[:nearest] {
		if common := parent.PersistentFlags().Lookup(f.Name); common != nil && common != f {
			first = i + 1
		}
	}
	words := CommandWords(cmd)
	for i := nearest; i >= first; i-- {
		name := VariableOf(words[:i], f.Name)
		if value := c.env(name); value != "" {
			return setting{flag: f, from: fromEnvironment, place: name, texts: []string{value}}
		}
	}
	found := setting{flag: f, from: fromDefault}
	at := c.file
	for i := 0; at != nil; i++ {
		if v, ok := at.flags[f.Name]; ok && i >= first {
			found = setting{flag: f, from: fromFile, place: v.place, texts: v.texts}
		}
		if i >= len(words) {
			break
		}
		at = at.commands[words[i]]
	}
	return found
}

// apply sets the flag.
func (s setting) apply(flags *pflag.FlagSet) error {
	if s.from != fromEnvironment && s.from != fromFile {
		return nil
	}
	var err error
	if list, ok := s.flag.Value.(pflag.SliceValue); ok && s.from == fromFile {
		err = list.Replace(s.texts)
		s.flag.Changed = true
	} else if len(s.texts) > 1 {
		err = errors.New("want one value")
	} else {
		err = flags.Set(s.flag.Name, s.texts[0])
	}
	if err != nil {
		return Usagef("%s: --%s: %w", s.place, s.flag.Name, err)
	}
	return nil
}

// Settle gives every flag that the command line leaves out its value from the
// environment, else from the file, else leaves the default.
func (a *App) Settle(cmd *cobra.Command) error {
	if unsettled(cmd) || cmd.Parent() != nil && unsettled(cmd.Parent()) {
		return nil
	}
	c, err := a.configuration(cmd.Root())
	if err != nil {
		return err
	}
	var faults []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || !isSetting(f) {
			return
		}
		s := c.lookUp(cmd, f)
		if err := s.apply(cmd.Flags()); err != nil {
			faults = append(faults, err)
		} else if s.from != fromDefault {
			a.settings = append(a.settings, s)
		}
	})
	return errors.Join(faults...)
}

// SettleBeforeArgs has every command settle its flags once the command line is
// read and before anything looks at it.
func (a *App) SettleBeforeArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := a.Settle(cmd); err != nil {
			return err
		}
		return check(cmd, args)
	}
	for _, child := range cmd.Commands() {
		a.SettleBeforeArgs(child)
	}
}

// alsoSet says, for a command line that was refused, what it does not show.
func (a *App) alsoSet() string {
	var parts []string
	for _, s := range a.settings {
		if s.flag.Name == "store" || s.flag.Name == "quiet" {
			continue // these never make a command line wrong
		}
		parts = append(parts, fmt.Sprintf("--%s by %s", s.flag.Name, s.place))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n  also set: " + strings.Join(parts, ", ") + "; see: bandmate config"
}
