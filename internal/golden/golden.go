// Package golden holds what a test made against a committed file. Its flag -update
// rewrites the files of the package that is tested:
//
//	go test ./topology -update
//
// A test that imports it cannot have a flag of that name of its own.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Want reports the difference of what a test made from the file at path, below the
// folder of the test. A file that cannot be read ends the test. With -update it
// writes the file instead, and its folder where that is missing.
func Want(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: make the file with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; rewrite with -update, and read the difference):\n%s", path, diff)
	}
}
