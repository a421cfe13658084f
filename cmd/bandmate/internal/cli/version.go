package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is what the program was built from.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// release is the version of a release: set by the linker, see hack/release.sh.
var release string

// Build is `version -o json`.
type Build struct {
	Version string `json:"version"`
	// Commit is the revision that the program was built from, and Time when it was
	// committed; both are absent where the build did not record them.
	Commit string `json:"commit,omitempty"`
	Time   string `json:"time,omitempty"`
	// Modified says that the checkout had changes that were not committed.
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newBuild() Build {
	b := Build{Version: Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b Build) write(w io.Writer) error {
	commit := cmp.Or(b.Commit, "unknown (built without version control: go build -buildvcs=true records it)")
	if b.Time != "" {
		commit += " of " + b.Time
	}
	if b.Modified {
		commit += ", with changes"
	}
	_, err := fmt.Fprintf(w, "bandmate %s\ncommit %s\n%s %s\n", b.Version, commit, b.Go, b.Platform)
	return err
}

// NewVersion returns the command version.
func NewVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and the commit that it was built from",
		Long: `Shows the version of this program, the commit that it was built from, the version
of Go and the platform.`,
		Example: `  bandmate version
  bandmate version -o json`,
		Args: WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := newBuild()
			return a.Print(b, b.write)
		},
	}
}
