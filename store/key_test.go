package store

import (
	"path"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// A file name that is ours names one file, within its folder.
func FuzzParseFileName(f *testing.F) {
	for _, name := range []string{"a@m.yaml", "a.yaml", "a@.yaml", "@m.yaml", "a@m@n.yaml", ".yaml", ".a@m.yaml1", "a.yml", "..@...yaml"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.Contains(name, "/") {
			return // no file name
		}
		for _, kind := range []string{v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile} {
			k, ok := parseFileName(kind, name)
			if !ok {
				continue
			}
			if got, want := k.path(), path.Join(folder(kind), name); got != want {
				t.Errorf("%q is read from %q", want, got)
			}
			if temporary(name) {
				t.Errorf("%q is a profile and a temporary file", name)
			}
		}
	})
}
