package slurm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/slurm/watch"
)

// What was taken back after the last round is not kept off nodes any longer.
func TestStatusAfterTakingBack(t *testing.T) {
	var out strings.Builder
	if err := statusText(watch.Status{Round: &watch.Round{Waiting: 4, Decided: 3, KeptOff: 3}})(&out); err != nil {
		t.Fatal(err)
	}
	if want := "4 wait, 3 decided about, 0 kept off nodes"; !strings.Contains(out.String(), want) {
		t.Errorf("%s, want %q", &out, want)
	}
}

// A watch sees profiles that arrive, change and break, and names a broken one once.
func TestWatchFollowsTheStore(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../../../docs/example/store")); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	a := &cli.App{StoreDir: folder, Stderr: &stderr, Env: func(string) string { return "" }}
	var profiles cli.Profiles
	first, err := freshAdvisor(a, &profiles)
	if err != nil || first.Len() != 12 {
		t.Fatal(first.Len(), err)
	}
	if again, err := freshAdvisor(a, &profiles); again != first || err != nil {
		t.Errorf("nothing changed, and the advisor did: %v", err)
	}
	file := filepath.Join(folder, "applications", "xz@cloud-vm.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "applications", name+"@cloud-vm.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("xy", strings.Replace(string(text), "name: xz", "name: xy", 1))
	if now, err := freshAdvisor(a, &profiles); err != nil || now.Len() != 13 || !now.Has("xy") {
		t.Errorf("one more: %d, %v", now.Len(), err)
	}
	write("xy", "kind: Pod")
	for range 2 {
		if now, err := freshAdvisor(a, &profiles); err != nil || len(now.Broken()) != 1 || now.Lookup("xy", "cloud-vm").Application != nil {
			t.Errorf("one is broken: %v, %v", now.Broken(), err)
		}
	}
	if n := strings.Count(stderr.String(), "xy@cloud-vm.yaml"); n != 1 {
		t.Errorf("it is named %d times: %s", n, &stderr)
	}
}
