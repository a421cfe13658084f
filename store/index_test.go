package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func nameOf(p *v1alpha1.ApplicationProfile) []byte { return []byte("summary of " + p.Name) }

// example returns a store with the profiles of the documentation.
func example(t *testing.T) *store.Store {
	t.Helper()
	s := open(t, t.TempDir())
	for _, folder := range []string{"applications", "machines"} {
		if err := os.CopyFS(filepath.Join(s.Dir(), folder), os.DirFS(filepath.Join("../docs/example/store", folder))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// wantIndex holds an index made at a time to what the files hold, and returns how many
// profiles were summarized for it.
func wantIndex(t *testing.T, s *store.Store, when string, clock func() time.Time) (summarized int32) {
	t.Helper()
	var calls atomic.Int32
	index, err := store.IndexAt(s, s.Kept("v1"), func(p *v1alpha1.ApplicationProfile) []byte {
		calls.Add(1)
		return nameOf(p)
	}, clock)
	if err != nil {
		t.Fatal(err)
	}
	want, wantBroken, err := s.Applications()
	if err != nil {
		t.Fatal(err)
	}
	wantMachines, more, err := s.Machines()
	if err != nil {
		t.Fatal(err)
	}
	got, broken := index.All()
	if !reflect.DeepEqual(got, want) || fmt.Sprint(broken) != fmt.Sprint(slices.Concat(wantBroken, more)) {
		t.Errorf("%s: applications differ; broken %v, want %v", when, broken, slices.Concat(wantBroken, more))
	}
	if !reflect.DeepEqual(index.Machines, wantMachines) {
		t.Errorf("%s: machines differ", when)
	}
	for i, p := range index.Applications {
		if i < len(want) && (string(p.Summary) != string(nameOf(want[i])) || p.Name != want[i].Name || p.Machine != want[i].Spec.Machine.Name) {
			t.Errorf("%s: %s of %s: summary %q", when, p.Name, p.Machine, p.Summary)
		}
	}
	return calls.Load()
}

// later is a clock after every change has settled.
func later() time.Time { return time.Now().Add(time.Hour) }

// An index holds what the files hold, whatever is kept, and decodes what changed.
func TestIndex(t *testing.T) {
	for name, clock := range map[string]func() time.Time{"unsettled": time.Now, "settled": later} {
		t.Run(name, func(t *testing.T) {
			s := example(t)
			want := func(when string, summarized int32) {
				t.Helper()
				time.Sleep(20 * time.Millisecond) // more than a tick of the file system's clock
				if n := wantIndex(t, s, when, clock); n != summarized {
					t.Errorf("%s: %d profiles were decoded, want %d", when, n, summarized)
				}
			}
			want("nothing is kept", 12)
			kept := keptFiles(t, s)
			if len(kept) != 1 {
				t.Fatalf("kept %v", kept)
			}
			want("kept", 0)
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
			// Neither size nor time of modification tells.
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			want("one changed in place", 1)
			write(t, file+".new", string(text))
			if err := os.Chtimes(file+".new", info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			want("one replaced", 1)
			if err := os.Chtimes(file, time.Time{}, info.ModTime().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			want("touched", 0)
			write(t, file, "kind: Pod")
			want("one broken", 0)
			want("still broken", 0)
			write(t, file, string(text))
			want("mended", 1)
			if err := os.Rename(file, filepath.Join(s.Dir(), "xz@cloud-vm.yaml")); err != nil {
				t.Fatal(err)
			}
			want("one gone", 0)
			if err := os.Symlink("../xz@cloud-vm.yaml", file); err != nil {
				t.Fatal(err)
			}
			want("a link", 1)
			write(t, filepath.Join(s.Dir(), "xz@cloud-vm.yaml"), changed)
			want("what is linked to changed", 1)
			write(t, filepath.Join(s.Dir(), "machines", "cloud-vm.yaml"), "kind: Pod")
			want("a broken machine", 0)
		})
	}
}

// Damage to what is kept is not noticed, but by the time that it takes.
func TestIndexOfDamagedFile(t *testing.T) {
	s := example(t)
	wantIndex(t, s, "nothing is kept", later)
	file := keptFiles(t, s)[0]
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 20, 60, 83, 90, 300, len(sound) / 2, len(sound) - 1} {
		damaged := slices.Clone(sound)
		damaged[at] ^= 0x40
		write(t, file, string(damaged))
		wantIndex(t, s, fmt.Sprintf("damaged at byte %d of %d", at, len(sound)), later)
		write(t, file, string(sound[:at]))
		wantIndex(t, s, fmt.Sprintf("cut to %d bytes of %d", at, len(sound)), later)
	}
}

// What an index has read of changes to a file is one state of it, or an error.
func TestIndexReadsLater(t *testing.T) {
	s := example(t)
	wantIndex(t, s, "nothing is kept", later)
	index, err := store.IndexAt(s, s.Kept("v1"), nameOf, later)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(index.Applications, func(p *store.Indexed) bool { return p.Name == "xz" })
	want, err := s.Application("xz", "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Dir(), "applications", "xz@cloud-vm.yaml")
	write(t, file, "kind: Pod")
	if got, err := index.Applications[at].Read(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("what is kept: %v", err)
	}
	changed := want.DeepCopy()
	changed.Spec.Solo.Seconds++
	put(t, s, changed)
	write(t, keptFiles(t, s)[0], "damaged")
	if _, err := index.Applications[at].Read(); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("damaged, and the file is another one: %v", err)
	}
}

// Two indexes are the same if the profiles, and what is wrong with files, are.
func TestIndexSame(t *testing.T) {
	s := example(t)
	last, err := s.Index(s.Kept("v1"), nameOf)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Dir(), "applications", "xz@cloud-vm.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		when string
		do   func()
		same bool
	}{
		{"nothing changed", func() {}, true},
		{"written again", func() { write(t, file, string(text)) }, true},
		{"another profile", func() { put(t, s, application("one", "node-a", 1)) }, false},
		{"another content", func() { put(t, s, application("one", "node-a", 2)) }, false},
		{"broken", func() { write(t, file, "kind: Pod") }, false},
		{"broken in another way", func() { write(t, file, "kind: [") }, false},
		{"a machine", func() { put(t, s, machine("node-a")) }, false},
		{"a foreign file", func() { write(t, filepath.Join(s.Dir(), "applications", "notes.txt"), "mine") }, true},
	} {
		step.do()
		now, err := s.Index(s.Kept("v1"), nameOf)
		if err != nil {
			t.Fatal(err)
		}
		if got := now.Same(last); got != step.same {
			t.Errorf("%s: same %t, want %t", step.when, got, step.same)
		}
		last = now
	}
	var none *store.Index
	if none.Same(last) || last.Same(none) || none.Same(nil) {
		t.Error("nothing is the same as something")
	}
}
