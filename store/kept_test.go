package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bandmate.dev/bandmate/store"
)

func keptFiles(t *testing.T, s *store.Store) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), ".kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestKept(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	kept := s.Kept("v1")
	if _, ok := kept.Load("fit", "key"); ok {
		t.Error("found what nobody kept")
	}
	kept.Save("fit", "key", []byte("result"))
	if data, ok := kept.Load("fit", "key"); !ok || string(data) != "result" {
		t.Errorf("%q, %t", data, ok)
	}
	for _, other := range []struct {
		kept      store.Kept
		kind, key string
	}{{kept, "fit", "other"}, {kept, "other", "key"}, {s.Kept("v2"), "fit", "key"}, {store.Kept{}, "fit", "key"}} {
		if data, ok := other.kept.Load(other.kind, other.key); ok {
			t.Errorf("%s of %q found %q", other.kind, other.key, data)
		}
	}
	if got := names(t, s); got != "triad@node-a" {
		t.Errorf("what is kept counts as a profile: %s", got)
	}
}

// Whatever is done to a file, the result is the one that was kept, or none.
func TestKeptDamaged(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	kept := s.Kept("v1")
	kept.Save("fit", "key", []byte("result"))
	file := keptFiles(t, s)[0]
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept.Save("fit", "foreign", []byte("another result"))
	for _, other := range keptFiles(t, s) {
		if other != file {
			if err := os.Rename(other, file); err != nil {
				t.Fatal(err)
			}
		}
	}
	if data, ok := kept.Load("fit", "key"); ok {
		t.Errorf("the file of another key gave %q", data)
	}
	for i := range sound {
		for _, text := range [][]byte{sound[:i], append(append(bytes.Clone(sound[:i]), sound[i]^0x40), sound[i+1:]...)} {
			write(t, file, string(text))
			if data, ok := kept.Load("fit", "key"); ok {
				t.Fatalf("damaged at byte %d of %d: found %q", i, len(sound), data)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok := kept.Load("fit", "key"); ok {
		t.Error("a folder was read")
	}
	kept.Save("fit", "key", []byte("result")) // cannot replace a folder, and says nothing
}

func TestKeptWhereNothingCanBeWritten(t *testing.T) {
	missing := open(t, filepath.Join(t.TempDir(), "missing"))
	missing.Kept("v1").Save("fit", "key", []byte("result"))
	if _, err := os.Stat(missing.Dir()); !os.IsNotExist(err) {
		t.Errorf("a folder of profiles was made: %v", err)
	}
	s := filled(t, application("triad", "node-a", 1))
	write(t, filepath.Join(s.Dir(), ".kept"), "a file in the place of the folder")
	s.Kept("v1").Save("fit", "key", []byte("result"))
	if _, ok := s.Kept("v1").Load("fit", "key"); ok {
		t.Error("kept within a file")
	}
	snapshot, err := s.SnapshotKept(nil, s.Kept("v1"))
	if profiles, _ := applicationsOf(t, snapshot); err != nil || len(profiles) != 1 {
		t.Errorf("%d profiles, %v", len(profiles), err)
	}
}

// Two writers and a reader at once: a reader finds one of both results whole.
func TestKeptByTwoWriters(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	kept := s.Kept("v1")
	results := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	kept.Save("fit", "key", []byte(results[0]))
	var group sync.WaitGroup
	for _, r := range results {
		group.Go(func() {
			for range 50 {
				kept.Save("fit", "key", []byte(r))
			}
		})
	}
	for range 200 {
		if data, ok := kept.Load("fit", "key"); !ok || string(data) != results[0] && string(data) != results[1] {
			t.Errorf("found %d bytes, %t", len(data), ok)
			break
		}
	}
	group.Wait()
	if files := keptFiles(t, s); len(files) != 1 {
		t.Errorf("left %v", files)
	}
}

func TestKeptPrunes(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	kept := s.Kept("v1")
	kept.Save("other", "key", []byte("of another kind"))
	for i := range 20 {
		kept.Save("fit", fmt.Sprint(i), []byte("result"))
		for _, file := range keptFiles(t, s) { // older by the number of those after it
			if info, err := os.Stat(file); err == nil {
				_ = os.Chtimes(file, time.Time{}, info.ModTime().Add(-time.Second))
			}
		}
	}
	if files := keptFiles(t, s); len(files) != 9 {
		t.Errorf("%d files are kept, want 8 of one kind and 1 of another", len(files))
	}
	for i := range 20 {
		if _, ok := kept.Load("fit", fmt.Sprint(i)); ok != (i >= 12) {
			t.Errorf("result %d: found %t, want the newest 8", i, ok)
		}
	}
}

// What was kept is what the files hold, and follows them.
func TestSnapshotKept(t *testing.T) {
	example, err := filepath.Glob("../docs/example/store/*/*.yaml")
	if err != nil || len(example) < 10 {
		t.Fatal(example, err)
	}
	s := open(t, t.TempDir())
	for _, file := range example {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.Dir(), filepath.Base(filepath.Dir(file)), filepath.Base(file)), string(text))
	}
	kept := s.Kept("v1")
	same := func(when string) {
		t.Helper()
		fresh := snapshot(t, s, nil)
		got, err := s.SnapshotKept(nil, kept)
		if err != nil {
			t.Fatal(err)
		}
		want, wantBroken := applicationsOf(t, fresh)
		have, broken := applicationsOf(t, got)
		if !reflect.DeepEqual(have, want) || fmt.Sprint(broken) != fmt.Sprint(wantBroken) {
			t.Errorf("%s: applications differ", when)
		}
		wantMachines, _, _ := fresh.Machines()
		haveMachines, _, _ := got.Machines()
		if !reflect.DeepEqual(haveMachines, wantMachines) {
			t.Errorf("%s: machines differ", when)
		}
		if sums := got.Sums(); len(sums) != len(want) {
			t.Errorf("%s: %d sums of %d profiles", when, len(sums), len(want))
		}
	}
	same("before anything is kept")
	if len(keptFiles(t, s)) != 1 {
		t.Fatalf("kept %v", keptFiles(t, s))
	}
	same("kept")
	file := filepath.Join(s.Dir(), "applications", "xz@cloud-vm.yaml")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "level: 0.25", "level: 0.26", 1)
	if changed == string(text) {
		t.Fatal("nothing to change")
	}
	write(t, file, changed)
	// Neither size nor time tells.
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	same("one changed")
	write(t, file, "kind: Pod")
	same("one broken")
	write(t, file, string(text))
	same("as before")
}
