package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ConfigFlag names the settings file.
const ConfigFlag = "config"

// origin is where the value of a flag comes from, by rising precedence.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "file"
	fromEnvironment origin = "environment"
	fromFlag        origin = "flag"
)

// setting is a flag and where its value comes from.
type setting struct {
	flag *pflag.Flag
	from origin
	value
}

// value is what the environment or the file says of a flag.
type value struct {
	// texts has one element, or those of a list.
	texts []string
	// place is the variable, or file:line:column.
	place string
}

// configuration finds the values of flags.
type configuration struct {
	env  func(string) string
	path string
	// found is false where there is no file.
	found bool
	// file has the values of the file by the variable that would set the same.
	file map[string]value
}

// ConfigPath returns the settings file: --config, else $BANDMATE_CONFIG, else
// bandmate/config.yaml in the XDG configuration folder. chosen is false for the
// last, which may be missing. The path is empty where neither folder is known.
func (a *App) ConfigPath() (path string, chosen bool) {
	if named := cmp.Or(a.ConfigFile, a.Env(VariableOf(nil, ConfigFlag))); named != "" {
		return named, true
	}
	// The XDG specification ignores relative paths.
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
	c := &configuration{env: a.Env, path: path}
	if path == "" {
		return c, nil
	}
	data, err := readSettings(path)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) && !chosen:
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w: name another file with --config, or none with --config /dev/null", err)
	}
	c.found = true
	if c.file, err = parseSettings(path, data, root); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// CommandWords returns the names of a command and its parents, without the root's.
func CommandWords(cmd *cobra.Command) []string {
	var words []string
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		words = append(words, cmd.Name())
	}
	slices.Reverse(words)
	return words
}

// VariableOf names the environment variable of a flag: BANDMATE_, the command's
// words and the flag's.
func VariableOf(words []string, flag string) string {
	name := strings.Join(append(append([]string{"bandmate"}, words...), flag), "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// lookUp finds the value of a flag that the command line of cmd leaves out: the
// nearest variable, else the nearest section of the file. A common flag that a
// command redefines takes no common value.
func (c *configuration) lookUp(cmd *cobra.Command, f *pflag.Flag) setting {
	words := CommandWords(cmd)
	common := 0
	for i, parent := len(words), cmd.Parent(); parent != nil; i, parent = i-1, parent.Parent() {
		if own := parent.PersistentFlags().Lookup(f.Name); own != nil && own != f {
			common = max(common, i)
		}
	}
	for i := len(words); i >= common; i-- {
		name := VariableOf(words[:i], f.Name)
		if text := c.env(name); text != "" {
			return setting{f, fromEnvironment, value{[]string{text}, name}}
		}
	}
	for i := len(words); i >= common; i-- {
		if v, ok := c.file[VariableOf(words[:i], f.Name)]; ok {
			return setting{f, fromFile, v}
		}
	}
	return setting{flag: f, from: fromDefault}
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

// alsoSet lists, for a command line that was refused, the settings that it does not
// show.
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

// unsettled is true for the commands that cobra adds, which have no settings.
func unsettled(cmd *cobra.Command) bool {
	return cmd.Name() == "help" || cmd.Name() == "completion" || strings.HasPrefix(cmd.Name(), "__")
}

// isSetting is false for the flags that make no sense in a file.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Name != ConfigFlag
}
