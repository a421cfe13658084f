package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/ticks/progress"
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

// setting is a value of a flag that its command line leaves out.
type setting struct {
	from origin
	// texts has one element, or those of a list.
	texts []string
	// place is the variable, or file:line:column.
	place string
}

// ConfigPath returns the settings file: --config, else $BANDMATE_CONFIG, else
// bandmate/config.yaml in the XDG configuration folder. chosen is false for the
// last, which may be missing. The path is empty where neither folder is known.
func (a *App) ConfigPath() (path string, chosen bool) {
	if named := cmp.Or(a.ConfigFile, a.Env("BANDMATE_CONFIG")); named != "" {
		return named, true
	}
	folder := a.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) { // the XDG specification ignores relative paths
		folder = filepath.Join(a.Env("HOME"), ".config")
	}
	if !filepath.IsAbs(folder) {
		return "", false
	}
	return filepath.Join(folder, "bandmate", "config.yaml"), false
}

// keyOf returns the key of a flag in the settings file with the sections that it is in:
// slurm.watch.mode. Without a flag it is the section of the command.
func keyOf(cmd *cobra.Command, flag string) string {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		flag = cmd.Name() + "." + flag
	}
	return flag
}

// VariableOf names the environment variable of a flag: BANDMATE_SLURM_WATCH_MODE.
func VariableOf(cmd *cobra.Command, flag string) string {
	return "BANDMATE_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(keyOf(cmd, flag)))
}

// lookUp finds the value of a flag of cmd: that of the nearest variable, else of the
// nearest section of the file.
func (a *App) lookUp(file map[string]setting, cmd *cobra.Command, f *pflag.Flag) (found setting, ok bool) {
	for at := cmd; at != nil; at = at.Parent() {
		// A common flag that a command redefines takes no common value.
		if common := at.PersistentFlags().Lookup(f.Name); common != nil && common != f {
			continue
		}
		name := VariableOf(at, f.Name)
		// A measured program finds the page in which it counts by a variable of this name.
		if text := a.Env(name); text != "" && name != progress.Variable {
			return setting{fromEnvironment, []string{text}, name}, true
		}
		if s, inFile := file[keyOf(at, f.Name)]; inFile && !ok {
			found, ok = s, true
		}
	}
	return found, ok
}

// Settle gives every flag that the command line leaves out its value from the
// environment, else from the file, else leaves the default.
func (a *App) Settle(cmd *cobra.Command) error {
	if unsettled(cmd) || cmd.Parent() != nil && unsettled(cmd.Parent()) {
		return nil
	}
	file, _, err := a.readSettings(cmd.Root())
	if err != nil {
		return err
	}
	var faults []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) { faults = append(faults, a.settle(file, cmd, f)) })
	return errors.Join(faults...)
}

// settle sets a flag that the command line of cmd leaves out.
func (a *App) settle(file map[string]setting, cmd *cobra.Command, f *pflag.Flag) error {
	s, ok := a.lookUp(file, cmd, f)
	if !ok || f.Changed || !isSetting(f) {
		return nil
	}
	if a.settings == nil {
		a.settings = map[*pflag.Flag]setting{}
	}
	a.settings[f] = s
	var err error
	if _, list := f.Value.(pflag.SliceValue); len(s.texts) > 1 && !list {
		err = fmt.Errorf("--%s: want one value", f.Name)
	}
	for _, text := range s.texts {
		err = cmp.Or(err, cmd.Flags().Set(f.Name, text))
	}
	if err != nil {
		return Usagef("%s: %w", s.place, RefusedValue(err))
	}
	return nil
}

// IsGiven reports whether a flag is on the command line, rather than in a setting.
func (a *App) IsGiven(f *pflag.Flag) bool {
	_, set := a.settings[f]
	return f.Changed && !set
}

// alsoSet lists, for a command line that was refused, the settings that it does not
// show.
func (a *App) alsoSet(cmd *cobra.Command) string {
	var parts []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if s, ok := a.settings[f]; ok && f.Changed && f.Name != "store" && f.Name != "quiet" { // these make no command line wrong
			parts = append(parts, fmt.Sprintf("--%s by %s", f.Name, s.place))
		}
	})
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
