package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// What is kept beside the profiles changes no answer, whatever happens to it, and is never
// that of other profiles.
func TestKeptFits(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes fits slow")
	}
	t.Parallel() // computes only
	folder := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(folder, os.DirFS("../../docs/example/store")); err != nil {
		t.Fatal(err)
	}
	answer := func() string {
		t.Helper()
		p := processtest.Bandmate(t, "predict", "xz", "triad", "lammps", "--explain", "--store", folder)
		p.WantExit(0)
		return p.Stdout.String()
	}
	kept := func() []string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(folder, ".kept", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	same := func(when, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s\nwant %s", when, got, want)
		}
	}
	want := answer()
	if !strings.Contains(want, "basis: memory-model") || len(kept()) < 3 {
		t.Fatalf("%s\nkept %v", want, kept())
	}
	same("kept", answer(), want)

	for _, file := range kept() {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)-1] ^= 1
		processtest.WriteFile(t, file, string(text))
	}
	same("damaged", answer(), want)
	same("mended", answer(), want)

	profile := filepath.Join(folder, "applications", "sqlite3@cloud-vm.yaml")
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(profile); err != nil {
		t.Fatal(err)
	}
	without := answer()
	if without == want {
		t.Error("one profile fewer: the answer is that of all")
	}
	processtest.WriteFile(t, profile, string(text))
	same("as before", answer(), want)

	if err := os.RemoveAll(filepath.Join(folder, ".kept")); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			p := processtest.Prepare(t, "bandmate", "predict", "xz", "triad", "lammps", "--explain", "--store", folder).Start()
			p.Wait()
			p.WantExit(0)
			same("several at once", p.Stdout.String(), want)
		})
	}
	group.Wait()

	if err := os.RemoveAll(filepath.Join(folder, ".kept")); err != nil {
		t.Fatal(err)
	}
	processtest.WriteFile(t, filepath.Join(folder, ".kept"), "nothing can be kept here")
	same("nothing can be kept", answer(), want)
}
