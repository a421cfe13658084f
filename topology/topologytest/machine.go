// Package topologytest reads the machines of topology's test data, for the tests of other
// packages.
package topologytest

import (
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"bandmate.dev/bandmate/topology"
)

// Machine returns the machine of which the txtar archive of a name, in folder, has the files
// of /sys and /proc.
func Machine(t testing.TB, folder, name string) *topology.Machine {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(folder, name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		if fs.ValidPath(f.Name) {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	sys, err := fs.Sub(files, "sys")
	if err != nil {
		t.Fatal(err)
	}
	proc, err := fs.Sub(files, "proc")
	if err != nil {
		t.Fatal(err)
	}
	m, err := topology.Read(sys, proc)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
