package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/store"
)

func TestDefaultDir(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"own variable", map[string]string{"BANDMATE_STORE": "here", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "here"},
		{"XDG", map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/bandmate/profiles"},
		{"relative XDG is ignored", map[string]string{"XDG_DATA_HOME": "x", "HOME": "/h"}, "/h/.local/share/bandmate/profiles"},
		{"home", map[string]string{"HOME": "/h"}, "/h/.local/share/bandmate/profiles"},
		{"nothing", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := store.DefaultDir(func(name string) string { return tt.env[name] })
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "a", "b")
	s := open(t, missing)
	if got := names(t, s); got != "" {
		t.Errorf("a missing folder holds %s", got)
	}
	if _, err := s.Machine("m"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
	put(t, s, machine("m"))
	if got := names(t, s); got != "m" {
		t.Errorf("holds %q", got)
	}
	write(t, filepath.Join(dir, "file"), "")
	_, err := store.Open(filepath.Join(dir, "file"))
	wantError(t, err, "not a folder")
	_, err = store.Open("")
	wantError(t, err, "BANDMATE_STORE")
	_, err = store.Open("~/profiles")
	wantError(t, err, "store ~/profiles: ", "in full")
	open(t, "~elsewhere")
}

func TestApplicationOfOneOrSeveralMachines(t *testing.T) {
	s := filled(t, application("triad", "node-a", 1), application("triad", "node-b", 2), application("cg", "node-a", 3), machine("node-a"))
	if got, want := files(t, s), "applications/cg@node-a.yaml applications/triad@node-a.yaml applications/triad@node-b.yaml machines/node-a.yaml"; got != want {
		t.Fatalf("files %s, want %s", got, want)
	}
	tests := []struct {
		name, machine string
		seconds       float64
		err           error
		message       string
	}{
		{"triad", "node-a", 1, nil, ""},
		{"triad", "node-b", 2, nil, ""},
		{"triad", "", 0, store.ErrAmbiguous, "node-a, node-b"},
		{"triad", "node-c", 0, store.ErrAmbiguous, "node-a, node-b"},
		{"cg", "", 3, nil, ""},
		{"cg", "node-b", 3, nil, ""},
		{"triat", "", 0, store.ErrNotFound, "did you mean triad?"},
		{"tri", "", 0, store.ErrNotFound, "did you mean triad?"},
		{"CG", "", 0, store.ErrNotFound, "no such profile"},
		{"something-else", "", 0, store.ErrNotFound, `ApplicationProfile "something-else": no such profile`},
		{"../machines/node-a", "", 0, store.ErrNotFound, ""},
		{"", "", 0, store.ErrNotFound, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name+"@"+tt.machine, func(t *testing.T) {
			p, err := s.Application(tt.name, tt.machine)
			if tt.err != nil {
				if !errors.Is(err, tt.err) {
					t.Fatalf("got %v, want %v", err, tt.err)
				}
				wantError(t, err, tt.message)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Spec.Solo.Seconds != tt.seconds {
				t.Errorf("got the profile of %s", p.Spec.Machine.Name)
			}
		})
	}
	if _, err := s.Machine("node-x"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	} else {
		wantError(t, err, "did you mean node-a?")
	}
}

func TestPutReplaces(t *testing.T) {
	s := filled(t, application("a", "m", 1), application("a", "m", 2))
	p, err := s.Application("a", "")
	if err != nil || p.Spec.Solo.Seconds != 2 {
		t.Errorf("got %v, %v", p, err)
	}
	if p.APIVersion != v1alpha1.APIVersion {
		t.Error("the file does not say its version")
	}
}

func TestPutRefusesInvalidProfiles(t *testing.T) {
	s := filled(t, machine("m"))
	bad := machine("m")
	bad.Spec.CPUs = 0
	wantError(t, s.Put(bad), `MachineProfile "m" is not valid`, "spec.cpus")
	for _, name := range []string{"", "../m", "a/b", ".", "..", "A", "a@b", "/etc/passwd", "a\x00"} {
		if s.Put(machine(name)) == nil || s.Put(application(name, "m", 1)) == nil || s.Put(application("a", name, 1)) == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	// Valid in Kubernetes, but longer than a file name may be.
	wantError(t, s.Put(machine(strings.Repeat("a", 250))), "choose a shorter name")
	put(t, s, machine(strings.Repeat("a", 225)))
	if got, want := files(t, s), "machines/"+strings.Repeat("a", 225)+".yaml machines/m.yaml"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
}

func TestDelete(t *testing.T) {
	s := filled(t, application("a", "m", 1), application("a", "n", 1), application("b", "m", 1), machine("m"))
	write(t, filepath.Join(s.Dir(), "applications", "broken@m.yaml"), "x")
	const app, mach = v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile
	if err := s.Delete(app, "a", ""); !errors.Is(err, store.ErrAmbiguous) {
		t.Error(err)
	}
	if err := s.Delete(app, "b", "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleting the profile of another machine: %v", err)
	}
	if err := s.Delete(mach, "x", ""); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	wantError(t, s.Delete("Pod", "a", ""), "want ApplicationProfile or MachineProfile")
	wantError(t, s.Delete(mach, "m", "m"), "want none")
	for _, k := range [][3]string{{app, "a", "m"}, {app, "b", ""}, {app, "broken", ""}, {mach, "m", ""}} {
		if err := s.Delete(k[0], k[1], k[2]); err != nil {
			t.Error(err)
		}
	}
	if got := files(t, s); got != "applications/a@n.yaml" {
		t.Errorf("left: %s", got)
	}
}

// Whatever stands in the folder, the sound profiles are found and what is
// broken is named.
func TestBrokenAndForeignFiles(t *testing.T) {
	s := filled(t, application("good", "m", 1), application("moved", "m", 1), machine("m"))
	dir := filepath.Join(s.Dir(), "applications")
	good, err := os.ReadFile(filepath.Join(dir, "good@m.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	write(t, outside, strings.Replace(string(good), "good", "outside", 1))

	// Ours, but broken.
	if err := os.Rename(filepath.Join(dir, "moved@m.yaml"), filepath.Join(dir, "renamed@m.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "half@m.yaml"), string(good[:len(good)/2]))
	write(t, filepath.Join(dir, "empty@m.yaml"), "")
	write(t, filepath.Join(dir, "no-machine.yaml"), string(good))
	write(t, filepath.Join(dir, "good.yaml"), string(good))
	write(t, filepath.Join(dir, "large@m.yaml"), strings.Repeat("#", 3<<20))
	broken := []string{
		"rename the file to moved@m.yaml", "links out of the store are not followed: copy the file", "Required value; line",
		"renamed@m.yaml holds", "half@m.yaml", "empty@m.yaml", "no-machine.yaml holds", "good.yaml holds", "large@m.yaml", "escape@m.yaml", "folder@m.yaml", "pipe@m.yaml", "loop@m.yaml",
	}
	for name, target := range map[string]string{"escape@m.yaml": outside, "loop@m.yaml": "loop@m.yaml"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder@m.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe@m.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Not ours.
	foreign := []string{".hidden.yaml", "README.md", "good@m.yaml~", ".good@m.yaml123456", "good@m.yml"}
	for _, name := range foreign {
		write(t, filepath.Join(dir, name), "anything")
	}

	profiles, faults, err := s.Applications()
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 1 || profiles[0].Name != "good" {
		t.Errorf("%d profiles", len(profiles))
	}
	all := errors.Join(faults...)
	wantError(t, all, broken...)
	if want := len(broken) - 3; len(faults) != want {
		t.Errorf("%d faults, want %d: %v", len(faults), want, all)
	}
	if _, err := s.Application("half", ""); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("a broken file passes for none: %v", err)
	}
	if p, err := s.Application("good", ""); err != nil || p.Name != "good" {
		t.Errorf("a misnamed file hides a sound one: %v", err)
	}
	if _, err := s.Application("no-machine", ""); err == nil {
		t.Error("a misnamed file is accepted")
	} else {
		wantError(t, err, "so does good@m.yaml: delete one of them")
	}
	// Putting replaces a link rather than following it.
	put(t, s, application("escape", "m", 1), application("good", "m", 2))
	if text, err := os.ReadFile(outside); err != nil || !strings.Contains(string(text), "outside") {
		t.Errorf("a link was followed out of the folder: %v", err)
	}
	for _, name := range foreign {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "anything" {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}

// A link of the whole store, or within it, is the user's choice.
// Profiles are not read through a linked folder, so that none may be stored there.
func TestLinkedFolderOfAKind(t *testing.T) {
	s := filled(t, machine("m"))
	if err := os.Symlink(t.TempDir(), filepath.Join(s.Dir(), "applications")); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Put(application("triad", "m", 1)), "applications")
}

func TestLinkedFolder(t *testing.T) {
	s := filled(t, machine("m"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.Dir(), link); err != nil {
		t.Fatal(err)
	}
	linked := open(t, link)
	put(t, linked, machine("n"))
	if got := names(t, s); got != "m n" {
		t.Errorf("holds %s", got)
	}
}
