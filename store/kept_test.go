package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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
	kept := filepath.Join(s.Dir(), ".kept")
	if err := syscall.Mkfifo(kept, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Kept("v1").Save("fit", "key", []byte("result")) // does not wait for a writer
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	write(t, kept, "a file in the place of the folder")
	s.Kept("v1").Save("fit", "key", []byte("result"))
	if _, ok := s.Kept("v1").Load("fit", "key"); ok {
		t.Error("kept within a file")
	}
	index, err := s.Index(s.Kept("v1"), nameOf)
	if err != nil {
		t.Fatal(err)
	}
	if profiles, broken := index.All(); len(profiles) != 1 || len(broken) > 0 {
		t.Errorf("%d profiles, %v", len(profiles), broken)
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

// What is used stays, however much else is kept meanwhile.
func TestKeptPrunesWhatIsNotUsed(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	kept := s.Kept("v1")
	for i := range 30 {
		kept.Save("fit", fmt.Sprint("once ", i), []byte("result"))
		for machine := range 6 {
			key := fmt.Sprint("machine ", machine)
			if _, found := kept.Load("fit", key); !found {
				if i > 0 {
					t.Fatalf("after %d others, the fit of machine %d is gone", i, machine)
				}
				kept.Save("fit", key, []byte("result"))
			}
		}
		for _, file := range keptFiles(t, s) { // older by the number of rounds after it
			if info, err := os.Stat(file); err == nil {
				_ = os.Chtimes(file, time.Time{}, info.ModTime().Add(-time.Second))
			}
		}
	}
}
