package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func snapshot(t *testing.T, s *store.Store, previous *store.Snapshot) *store.Snapshot {
	t.Helper()
	now, err := s.Snapshot(previous)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func applicationsOf(t *testing.T, s *store.Snapshot) (map[string]*v1alpha1.ApplicationProfile, []error) {
	t.Helper()
	profiles, broken, err := s.Applications()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*v1alpha1.ApplicationProfile{}
	for _, p := range profiles {
		byName[p.Name+"@"+p.Spec.Machine.Name] = p
	}
	return byName, broken
}

// A snapshot holds what the folder holds, whatever was done to it, and keeps the
// objects that did not change.
func TestSnapshotFollowsTheFolder(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1), application("cg", "node-a", 2), machine("node-a"))
	first := snapshot(t, s, nil)
	if again := snapshot(t, s, first); again != first {
		t.Error("nothing changed, and the snapshot did")
	}
	before, _ := applicationsOf(t, first)

	put(t, s, application("triad", "node-a", 3))
	second := snapshot(t, s, first)
	after, _ := applicationsOf(t, second)
	if after["triad@node-a"].Spec.Solo.Seconds != 3 || before["triad@node-a"].Spec.Solo.Seconds != 1 {
		t.Error("a profile that was replaced is not there, or changed under its reader")
	}
	if after["cg@node-a"] != before["cg@node-a"] {
		t.Error("a profile that did not change was read again")
	}

	// In place, by an editor; same size, so that only the time tells.
	file := filepath.Join(s.Dir(), "applications", "cg@node-a.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(text), "seconds: 2", "seconds: 7", 1))
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	third := snapshot(t, s, second)
	if all, _ := applicationsOf(t, third); all["cg@node-a"].Spec.Solo.Seconds != 7 {
		t.Errorf("edited in place: %v", all["cg@node-a"])
	}

	if err := s.Delete(v1alpha1.KindApplicationProfile, "triad", ""); err != nil {
		t.Fatal(err)
	}
	put(t, s, machine("node-b"))
	write(t, filepath.Join(s.Dir(), "applications", "broken@node-a.yaml"), "kind: Pod")
	fourth := snapshot(t, s, third)
	last, broken := applicationsOf(t, fourth)
	machines, _, err := fourth.Machines()
	if err != nil || len(last) != 1 || len(broken) != 1 || len(machines) != 2 {
		t.Errorf("%d applications, broken %v, %d machines, %v", len(last), broken, len(machines), err)
	}
	// A broken file stays broken, which is no change.
	if snapshot(t, s, fourth) != fourth {
		t.Error("nothing changed, and the snapshot did")
	}
}

func TestSnapshotOfALinkToNothing(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1))
	if err := os.Symlink("nothing.yaml", filepath.Join(s.Dir(), "applications", "cg@node-a.yaml")); err != nil {
		t.Fatal(err)
	}
	first := snapshot(t, s, nil)
	if all, broken := applicationsOf(t, first); len(all) != 1 || len(broken) != 0 {
		t.Errorf("holds %v, broken %v", all, broken)
	}
	if snapshot(t, s, first) != first {
		t.Error("nothing changed, and the snapshot did")
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	empty := snapshot(t, open(t, filepath.Join(t.TempDir(), "missing")), nil)
	if all, broken := applicationsOf(t, empty); len(all)+len(broken) > 0 {
		t.Errorf("a missing folder holds %v, %v", all, broken)
	}
}

func TestNewSnapshotKeepsWhatDidNotChange(t *testing.T) {
	of := func(name, resourceVersion string) *v1alpha1.ApplicationProfile {
		p := application(name, "node-a", 1)
		p.UID, p.ResourceVersion = types.UID("uid-"+name), resourceVersion
		return p
	}
	first := store.NewSnapshot(nil, []*v1alpha1.ApplicationProfile{of("a", "1"), of("b", "1")}, nil, []error{os.ErrInvalid})
	if again := store.NewSnapshot(first, []*v1alpha1.ApplicationProfile{of("a", "1"), of("b", "1")}, nil, []error{os.ErrInvalid}); again != first {
		t.Error("nothing changed, and the snapshot did")
	}
	second := store.NewSnapshot(first, []*v1alpha1.ApplicationProfile{of("a", "1"), of("b", "2")}, nil, nil)
	before, broken := applicationsOf(t, first)
	after, none := applicationsOf(t, second)
	if before["a@node-a"] != after["a@node-a"] || before["b@node-a"] == after["b@node-a"] {
		t.Error("of a and b, b changed")
	}
	if !slices.Equal(broken, []error{os.ErrInvalid}) || len(none) > 0 {
		t.Errorf("broken %v, then %v", broken, none)
	}
	// Without versions nothing can be told apart.
	plain := []*v1alpha1.ApplicationProfile{application("a", "node-a", 1)}
	one := store.NewSnapshot(nil, plain, nil, nil)
	if two := store.NewSnapshot(one, []*v1alpha1.ApplicationProfile{application("a", "node-a", 2)}, nil, nil); two == one {
		t.Error("objects without a version were taken for the same")
	}
}
