package cli

import "runtime/debug"

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
