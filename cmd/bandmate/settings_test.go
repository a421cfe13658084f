package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/root"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/ticks/progress"
)

// settledWith reads a command line, settles what it leaves out, and returns the
// command.
func settledWith(t *testing.T, variables map[string]string, words ...string) (*cobra.Command, error) {
	t.Helper()
	a := clitest.App(variables)
	cmd, rest, err := root.New(a).Find(words)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	return cmd, a.Settle(cmd)
}

const precedenceFile = `
apiVersion: bandmate.dev/v1alpha1
kind: Configuration
store: /file
machine: file-all
method: linear-estimated
predict:
  machine: file-predict
onboard:
  read-share: [25%, 75%]
slurm:
  limit: 1.1
  watch:
    limit: 1.2
    mode: advise
report:
  output: page.html
`

// A flag is what the command line says, else the nearest variable, else the
// nearest section of the file, else its default.
func TestPrecedence(t *testing.T) {
	file := writeIn(t, "config.yaml", precedenceFile)
	for _, test := range []struct {
		name      string
		variables map[string]string
		words     []string
		flag      string
		want      string
	}{
		{"default", nil, []string{"predict"}, "max-slowdown", "0"},
		{"file, all commands", nil, []string{"matrix"}, "machine", "file-all"},
		{"file, common flag", nil, []string{"matrix"}, "store", "/file"},
		{"file, nearest section", nil, []string{"predict"}, "machine", "file-predict"},
		{"file, list", nil, []string{"onboard"}, "read-share", "[25%,75%]"},
		{"file, section above", nil, []string{"slurm", "advise"}, "limit", "1.1"},
		{"file, section of a subcommand", nil, []string{"slurm", "watch"}, "limit", "1.2"},
		{"file, own flag in place of a common one", nil, []string{"report"}, "output", "page.html"},
		{"file, command below", nil, []string{"profiles", "show"}, "machine", "file-all"},
		{"environment over file", map[string]string{"BANDMATE_STORE": "/environment"}, []string{"matrix"}, "store", "/environment"},
		{"environment of all over the file's nearest", map[string]string{"BANDMATE_MACHINE": "e"}, []string{"predict"}, "machine", "e"},
		{"nearest variable", map[string]string{"BANDMATE_MACHINE": "e", "BANDMATE_PREDICT_MACHINE": "near"}, []string{"predict"}, "machine", "near"},
		{"another command's variable", map[string]string{"BANDMATE_PREDICT_MACHINE": "near"}, []string{"matrix"}, "machine", "file-all"},
		{"environment, list", map[string]string{"BANDMATE_ONBOARD_READ_SHARE": "50%,100%"}, []string{"onboard"}, "read-share", "[50%,100%]"},
		{"environment, dashes", map[string]string{"BANDMATE_PREDICT_MAX_SLOWDOWN": "1.5"}, []string{"predict"}, "max-slowdown", "1.5"},
		{"environment, own flag in place of a common one", map[string]string{"BANDMATE_OUTPUT": "json"}, []string{"report"}, "output", "page.html"},
		{"common flag for one command", map[string]string{"BANDMATE_MATRIX_OUTPUT": "json"}, []string{"matrix"}, "output", "json"},
		{"empty variable", map[string]string{"BANDMATE_STORE": ""}, []string{"matrix"}, "store", "/file"},
		{"flag over everything", map[string]string{"BANDMATE_STORE": "/environment"}, []string{"matrix", "--store", "/flag"}, "store", "/flag"},
		{"flag that repeats its default", map[string]string{"BANDMATE_QUIET": "true"}, []string{"matrix", "--quiet=false"}, "quiet", "false"},
		{"list on the command line", nil, []string{"onboard", "--read-share", "60%"}, "read-share", "[60%]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			variables := map[string]string{"BANDMATE_CONFIG": file}
			maps.Copy(variables, test.variables)
			cmd, err := settledWith(t, variables, test.words...)
			if err != nil {
				t.Fatal(err)
			}
			if got := cmd.Flags().Lookup(test.flag).Value.String(); got != test.want {
				t.Errorf("--%s is %q, want %q", test.flag, got, test.want)
			}
		})
	}
}

// A flag that the file sets counts as given.
func TestSettledFlagsAreGiven(t *testing.T) {
	cmd, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": writeIn(t, "c.yaml", precedenceFile)}, "onboard")
	if err != nil {
		t.Fatal(err)
	}
	if !cmd.Flags().Changed("read-share") || cmd.Flags().Changed("levels") {
		t.Error("--read-share is not given, or --levels is")
	}
}

// A program that is measured has this variable, and so has a bandmate that it starts.
func TestThePageOfProgressIsNoSetting(t *testing.T) {
	cmd, err := settledWith(t, map[string]string{progress.Variable: "/dev/shm/page"}, "onboard")
	if err != nil || cmd.Flags().Changed("progress") {
		t.Errorf("--progress is set, %v", err)
	}
}

func TestConfigPath(t *testing.T) {
	for _, test := range []struct {
		flag      string
		variables map[string]string
		want      string
		chosen    bool
	}{
		{"", nil, "", false},
		{"", map[string]string{"HOME": "/h"}, "/h/.config/bandmate/config.yaml", false},
		{"", map[string]string{"HOME": "h"}, "", false},
		{"", map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/bandmate/config.yaml", false},
		{"", map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/bandmate/config.yaml", false},
		{"", map[string]string{"HOME": "/h", "BANDMATE_CONFIG": "c"}, "c", true},
		{"f", map[string]string{"HOME": "/h", "BANDMATE_CONFIG": "c"}, "f", true},
	} {
		a := clitest.App(test.variables)
		a.ConfigFile = test.flag
		if got, chosen := a.ConfigPath(); got != test.want || chosen != test.chosen {
			t.Errorf("%q, %v: got %q, %v", test.flag, test.variables, got, chosen)
		}
	}
}

const header = "apiVersion: bandmate.dev/v1alpha1\nkind: Configuration\n"

// Every fault of a file is named with its place, and nothing that is wrong is
// passed over.
func TestSettingsFaults(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"not YAML":            {"a: [", []string{"c.yaml: yaml: line 1:"}},
		"tabs":                {"a:\n\tb: 1", []string{"c.yaml: yaml: line 2:"}},
		"list":                {"- a", []string{"c.yaml:1:1:", "want flags and commands"}},
		"no kind":             {"quiet: true", []string{"c.yaml:1:1: want apiVersion: bandmate.dev/v1alpha1", "c.yaml:1:1: want kind: Configuration"}},
		"other kind":          {"apiVersion: bandmate.dev/v1alpha1\nkind: ApplicationProfile", []string{"c.yaml:1:1: want kind: Configuration"}},
		"other version":       {"apiVersion: bandmate.dev/v9\nkind: Configuration", []string{"c.yaml:1:1: want apiVersion: bandmate.dev/v1alpha1"}},
		"unknown flag":        {header + "stroe: x", []string{`c.yaml:3:1: "stroe"`}},
		"unknown, two levels": {header + "slurm:\n  wacht: {}\nprdict: {}", []string{`c.yaml:4:3: "wacht"`, `c.yaml:5:1: "prdict"`}},
		"flag of another":     {header + "matrix:\n  max-slowdown: 2", []string{`c.yaml:4:3: "max-slowdown": no flag of that name: see bandmate matrix --help`}},
		"help":                {header + "predict:\n  help: true", []string{`c.yaml:4:3: "help"`}},
		"config":              {header + "config: other.yaml", []string{`c.yaml:3:1: "config": no flag of that name: see bandmate --help`}},
		"cobra's own":         {header + "completion: {}", []string{`c.yaml:3:1: "completion"`}},
		"command as flag":     {header + "predict: 3", []string{`c.yaml:3:1: "predict": no flag of that name: see bandmate --help`}},
		"no value":            {header + "store:", []string{"c.yaml:3:", "store: want a value"}},
		"map as value":        {header + "store: {a: b}", []string{"c.yaml:3:8: store: want a value"}},
		"empty list":          {header + "onboard:\n  levels: []", []string{"c.yaml:4:11: onboard.levels: want a value"}},
		"nested list":         {header + "onboard:\n  levels: [[a]]", []string{"c.yaml:4:11: onboard.levels: want a value"}},
		"twice":               {header + "store: a\nstore: b", []string{"c.yaml:4:1:", "twice"}},
		"alias":               {header + "store: &a b\nmachine: *a", []string{"c.yaml:4:10: machine: want a value"}},
		"merge":               {header + "predict: &p {machine: m}\nmatrix: {<<: *p}", []string{`c.yaml:4:10: "<<"`}},
		"two documents":       {header + "---\n" + header, []string{"more than one document"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": writeIn(t, "c.yaml", test.text)}, "matrix")
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// A value that its flag refuses is wrong usage, said with its place.
func TestConfigurationValues(t *testing.T) {
	for text, want := range map[string]string{
		"quiet: maybe":                   `:3:8: --quiet "maybe": want true or false`,
		"timeout: soon":                  `:3:10: --timeout "soon": want a duration`,
		"onboard:\n  repeats: [3, 4]":    ":4:12: --repeats: want one value",
		"onboard:\n  precision: a lot\n": `:4:14: --precision "a lot": want a number`,
	} {
		_, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": writeIn(t, "c.yaml", header+text)}, "onboard")
		if err == nil || !strings.Contains(err.Error(), want) || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, err := settledWith(t, map[string]string{"BANDMATE_REPEATS": "x"}, "onboard")
	if err == nil || !strings.Contains(err.Error(), `BANDMATE_REPEATS: --repeats "x": want a whole number`) || cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("variable: %v", err)
	}
}

func TestConfigurationFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	if _, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": missing}, "matrix"); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is named and missing: %v", err)
	}
	if _, err := settledWith(t, map[string]string{"XDG_CONFIG_HOME": t.TempDir()}, "matrix"); err != nil {
		t.Errorf("no file: %v", err)
	}
	for _, empty := range []string{"/dev/null", writeIn(t, "empty.yaml", "# nothing yet\n")} {
		if _, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": empty}, "matrix"); err != nil {
			t.Errorf("%s: %v", empty, err)
		}
	}
	if _, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": t.TempDir()}, "matrix"); err == nil {
		t.Error("a folder is no error")
	}
	huge := writeIn(t, "huge.yaml", header)
	if err := os.Truncate(huge, 1<<40); err != nil {
		requires.Unmet(t, "needs a file system with large files: %v", err)
	}
	if _, err := settledWith(t, map[string]string{"BANDMATE_CONFIG": huge}, "matrix"); err == nil || !strings.Contains(err.Error(), huge) {
		t.Errorf("a huge file: %v", err)
	}
}

// A variable means one flag of one command or one section, and none that
// Bandmate uses for something else.
func TestVariablesAreUnambiguous(t *testing.T) {
	otherwise := []string{
		"BANDMATE_GUARD", "BANDMATE_INTERFERER", "BANDMATE_NAMESPACES", "BANDMATE_RUN", // processes of an experiment
		"BANDMATE_SLURM", "BANDMATE_SLURM_FLAGS", "BANDMATE_RECORDS", "BANDMATE_LONGEST", // manifests/slurm
		"BANDMATE_WATCHDOG",
	}
	means := map[string]string{}
	names := map[string]bool{}
	cli.WalkSettings(testRoot(), func(cmd *cobra.Command, f *pflag.Flag) {
		for at := cmd; at != nil; at = at.Parent() {
			variable := cli.VariableOf(at, f.Name)
			meaning := at.CommandPath() + " --" + f.Name
			if other, ok := means[variable]; ok && other != meaning {
				t.Errorf("%s: both %q and %q", variable, other, meaning)
			}
			means[variable] = meaning
			if slices.Contains(otherwise, variable) || strings.HasPrefix(variable, "BANDMATE_TEST") || strings.HasPrefix(variable, "BANDMATE_E2E") {
				t.Errorf("%s of %q has another meaning", variable, meaning)
			}
		}
		names[f.Name] = true
	})
	if len(means) < 100 {
		t.Errorf("only %d variables", len(means))
	}
}

// Some names are a command and a flag of others: a section or a value tells.
func TestCommandAndFlagOfOneName(t *testing.T) {
	for text, want := range map[string]string{"machine: desk": "--machine desk", "machine: {name: desk}": "--name desk"} {
		variables := map[string]string{"BANDMATE_CONFIG": writeIn(t, "c.yaml", header+text)}
		for _, command := range []string{"matrix", "machine"} {
			cmd, err := settledWith(t, variables, command)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, name := range []string{"machine", "name"} {
				if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
					got = "--" + name + " " + f.Value.String()
				}
			}
			if (got == want) != (command == "matrix" == (text == "machine: desk")) {
				t.Errorf("%s: %s has %q", text, command, got)
			}
		}
	}
}

// A flag says what it wants in the words of a user, not of a library.
func TestRefusedValues(t *testing.T) {
	refused := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			visit(child)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			err := cmd.ParseFlags([]string{"--" + f.Name + "=\"?"})
			if err == nil {
				return
			}
			refused++
			err = cmd.FlagErrorFunc()(cmd, err)
			said := err.Error()
			if !strings.HasPrefix(said, "--"+f.Name+` "\"?": want`) || strings.Contains(said, "strconv") || cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("%s: %v", cmd.CommandPath(), err)
			}
		})
	}
	visit(testRoot())
	if refused < 50 {
		t.Errorf("%d flags refused their values", refused)
	}
}
