package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
)

// app is what every command shares.
type app struct {
	stdout, stderr io.Writer
	env            func(string) string

	format     string
	storeDir   string
	configFile string
	quiet      bool
	// settings are the flags that the environment and the file gave.
	settings []setting
	// plugin is true when kubectl runs this program, as kubectl-bandmate.
	plugin bool
}

// Output formats.
const (
	formatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
	formatCSV  = "csv"
)

func newRootCommand(a *app) *cobra.Command {
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
		Version:       version(),
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
			return usagef("unknown command %q%s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if a.plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl bandmate"}
	}
	root.SuggestionsMinimumDistance = 2
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", report.DefaultWidth)))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVarP(&a.format, "output", "o", formatText, "output format: text, json, yaml (and csv where rows make sense)")
	root.PersistentFlags().StringVar(&a.storeDir, "store", "", "folder of profiles (default $BANDMATE_STORE, else the XDG data folder)")
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	root.PersistentFlags().StringVar(&a.configFile, configFlag, "", "file of settings (default bandmate/config.yaml in the XDG configuration folder)")
	root.AddCommand(
		newDemoCommand(a), newDoctorCommand(a), newMachineCommand(a), withKubernetes(a, newOnboardCommand(a)),
		newMeasureCommand(a), newInterfereCommand(a), newPredictCommand(a), newMatrixCommand(a),
		newProfilesCommand(a), newSampleCommand(a),
		newEvaluateCommand(a), newPairCommand(a),
		newApplyCommand(a), newPrepareCommand(), newAgentCommand(a), newExplainCommand(a), newWhatIfCommand(a), newSlurmCommand(a),
		newOverlapCommand(a), newNetworkCommand(a), newCapabilityCommand(a), newReportCommand(a), newServeCommand(a), newConfigCommand(a),
	)
	a.settleBeforeArgs(root)
	a.completeFlags(root)
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

// release is the version of a release: set by the linker, see hack/release.
var release string

// version is what the program was built from.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// exactArgs and the like turn cobra's complaints into usage errors.
func wantArgs(check cobra.PositionalArgs, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("want %s", usage)
		}
		return nil
	}
}

// checkFormat refuses formats that a command does not have.
func (a *app) checkFormat(extra ...string) error {
	formats := append([]string{formatText, formatJSON, formatYAML}, extra...)
	if !slices.Contains(formats, a.format) {
		return usagef("-o %s: want one of %s", a.format, strings.Join(formats, ", "))
	}
	return nil
}

// print writes v as JSON or YAML, or calls text, whose lines it folds on a terminal.
func (a *app) print(v any, text func(io.Writer) error) error {
	return a.printWhole(v, a.folded(text))
}

// printWhole is print for text with lines that are to be pasted.
func (a *app) printWhole(v any, text func(io.Writer) error) error {
	switch a.format {
	case formatJSON:
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
		return a.write(append(data, '\n'))
	case formatYAML:
		data, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
		return a.write(data)
	}
	var b bytes.Buffer
	if err := text(&b); err != nil {
		return err
	}
	return a.write(b.Bytes())
}

func (a *app) write(data []byte) error {
	if _, err := a.stdout.Write(data); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// open opens the profile folder.
func (a *app) open() (*store.Store, error) {
	dir := a.storeDir
	if dir == "" {
		var err error
		if dir, err = store.DefaultDir(a.env); err != nil {
			return nil, err
		}
	}
	return store.Open(dir)
}

// checkWritable fails early where a result could not be stored. The folder
// itself may be missing yet.
func checkWritable(folder *store.Store) error {
	dir, err := filepath.Abs(folder.Dir())
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		switch parent := filepath.Dir(dir); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrNotExist) && parent != dir:
			dir = parent
		default:
			return fmt.Errorf("store: %w: choose a folder you may write to with --store or BANDMATE_STORE, or change its permissions",
				&fs.PathError{Op: "write to", Path: dir, Err: err})
		}
	}
}

// warn prints warnings on standard error.
func (a *app) warn(warnings []string) {
	o, _ := report.Detect(a.stderr, a.env)
	for _, w := range warnings {
		fmt.Fprint(a.stderr, report.Paragraph("warning: ", w, o))
	}
}

// tell prints a sentence on standard error unless told to be quiet.
func (a *app) tell(text string) {
	if !a.quiet {
		o, _ := report.Detect(a.stderr, a.env)
		fmt.Fprint(a.stderr, report.Paragraph("", text, o))
	}
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.ToLower(name)
}

// canvas is what standard output can show.
func (a *app) canvas() report.Options {
	o, _ := report.Detect(a.stdout, a.env)
	return o
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// complain prints a message on standard error, folded on a terminal.
func (a *app) complain(message string) {
	if isTerminal(a.stderr) {
		o, _ := report.Detect(a.stderr, a.env)
		message = report.Fold(message, o)
	}
	fmt.Fprint(a.stderr, message)
}

// folded breaks long lines of text on a terminal. Elsewhere, where programs may
// read them, they stay whole.
func (a *app) folded(text func(io.Writer) error) func(io.Writer) error {
	if !isTerminal(a.stdout) {
		return text
	}
	o := a.canvas()
	return func(w io.Writer) error {
		var b bytes.Buffer
		if err := text(&b); err != nil {
			return err
		}
		_, err := io.WriteString(w, report.Fold(b.String(), o))
		return err
	}
}
