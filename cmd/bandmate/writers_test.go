package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// Twenty writers of one store, some of which are killed, leave whole profiles, all of
// those that succeeded, and nothing kept that is not theirs.
func TestTwentyWriters(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(store, os.DirFS("../../docs/example/store")); err != nil {
		t.Fatal(err)
	}
	answer := func() string {
		p := processtest.Bandmate(t, "predict", "xz", "triad", "--explain", "--store", store)
		p.WantExit(0)
		return p.Stdout.String()
	}
	want := answer()
	var group sync.WaitGroup
	const writers, profiles = 20, 5
	for i := range writers {
		var texts []string
		for j := range profiles {
			texts = append(texts, profileOf(fmt.Sprintf("writer-%d-%d", i, j)))
		}
		texts = append(texts, strings.Replace(profileOf("shared"), "seconds: 1,", fmt.Sprintf("seconds: %d,", i+1), 1))
		file := writeIn(t, fmt.Sprintf("%d.yaml", i), strings.Join(texts, "---\n"))
		p := processtest.Prepare(t, "bandmate", "profiles", "import", file, "--store", store)
		group.Go(func() {
			p.Start()
			if i%4 == 3 {
				time.Sleep(time.Duration(5*i) * time.Millisecond)
				_ = p.Cmd.Process.Kill() // it may have ended
				p.Wait()
				return
			}
			p.WantExit(0)
			for j := range profiles {
				if got := processtest.ReadFile(t, filepath.Join(store, "applications", fmt.Sprintf("writer-%d-%d@here.yaml", i, j))); !strings.Contains(got, "readBytesPerSecond") {
					t.Errorf("profile %d of writer %d: %q", j, i, got)
				}
			}
			if got := answer(); got != want {
				t.Errorf("beside writers: %s\nwant %s", got, want)
			}
		})
	}
	group.Wait()
	list := func() string {
		t.Helper()
		p := processtest.Bandmate(t, "profiles", "list", "-o", "json", "--store", store)
		p.WantExit(0)
		if p.Stderr.String() != "" {
			t.Errorf("profiles that cannot be read: %s", &p.Stderr)
		}
		return p.Stdout.String()
	}
	kept := list()
	if err := os.RemoveAll(filepath.Join(store, ".kept")); err != nil {
		t.Fatal(err)
	}
	if list() != kept {
		t.Error("what is kept is not what the files hold")
	}
	for i := range writers {
		for j := range profiles {
			if name := fmt.Sprintf("%q", fmt.Sprintf("writer-%d-%d", i, j)); i%4 != 3 && !strings.Contains(kept, name) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}
