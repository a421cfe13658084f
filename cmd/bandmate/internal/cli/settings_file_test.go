package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
)

// onboardLike is a command with one flag of each kind, below a root with one.
func onboardLike() *cobra.Command {
	root, cmd := &cobra.Command{Use: "bandmate"}, &cobra.Command{Use: "onboard", Run: func(*cobra.Command, []string) {}}
	root.PersistentFlags().String("store", "", "")
	cmd.Flags().String("machine", "", "")
	cmd.Flags().StringSlice("read-share", nil, "")
	cmd.Flags().Int("repeats", 1, "")
	cmd.Flags().Bool("adaptive", false, "")
	root.AddCommand(cmd)
	return cmd
}

func FuzzParseSettings(f *testing.F) {
	const header = "apiVersion: bandmate.dev/v1alpha1\nkind: Configuration\n"
	f.Add(header + "store: /file\nmachine: all\nonboard:\n  read-share: [25%, 75%]\n  repeats: 3\n")
	f.Add(header + "store: &a b\nmachine: *a\n<<: {}")
	f.Add(header + "onboard: {read-share: [1, [2]], ? [x] : y}")
	f.Add(header + "onboard: {repeats: many, adaptive: maybe}")
	file := filepath.Join(f.TempDir(), "c.yaml")
	variables := map[string]string{"BANDMATE_CONFIG": file}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := clitest.App(variables).Settle(onboardLike()); err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("no place: %v", err)
		}
	})
}
