package models

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
)

// needFlags refuses a command line that lacks a flag without a sensible default.
func needFlags(cmd *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) > 0 {
		return cli.Usagef("give %s", strings.Join(missing, ", "))
	}
	return nil
}

// interruptible makes a command that only reads and computes end at once when it is
// interrupted, even where a read from a pipe hangs.
func interruptible(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.UnlessInterrupted(cmd.Context(), func() error { return run(cmd, args) })
	}
	return cmd
}

// readFile reads the file of a profile or of parameters, if it is no larger than such a
// file may be.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAtMost(file, path, v1alpha1.MaxDocumentBytes)
}

// readAtMost reads all of in, which has that name and at most so many bytes.
func readAtMost(in io.Reader, name string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, most)
	}
	return data, nil
}

// openMachine opens the profile folder, and returns it with the machine that is to
// be described further.
func openMachine(a *cli.App, name string) (*store.Store, *v1alpha1.MachineProfile, error) {
	folder, err := a.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	profile, err := folder.Machine(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; measure the machine itself first: bandmate machine --name %s", err, name)
	}
	return folder, profile, nil
}

// printWarned prints v with warnings on standard error where the result is text; JSON
// and YAML hold them.
func printWarned(a *cli.App, v any, warnings []string, text func(io.Writer) error) error {
	err := a.Print(v, text)
	if err == nil && a.Format == cli.FormatText {
		a.Warn(warnings)
	}
	return err
}
