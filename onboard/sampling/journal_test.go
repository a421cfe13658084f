package sampling

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

func someSamples() []Sample {
	tag := regime.Tag{Class: regime.SameComplex, RoundTrip: 78 * time.Nanosecond}
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	return []Sample{
		{Key: Key{"xz", ""}, Tag: tag, Spell: 1, Start: at, Observation: Observation{Wall: 250 * time.Millisecond}},
		{Key: Key{"xz", "50% reads at 75%"}, Tag: tag, Spell: 1, Start: at, Observation: Observation{
			Wall: 500 * time.Millisecond, Pressed: 200 * time.Millisecond,
			Achieved: interferer.Achieved{Elapsed: 500 * time.Millisecond, Traffic: units.Traffic{Read: 1e10, Write: 1e10}},
			Alone:    units.Traffic{Read: 2e10, Write: 1e10},
		}},
	}
}

func writeJournal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "interrupted", "xz.jsonl")
	j, err := CreateJournal(path, "abc")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range someSamples() {
		if err := j.Keep(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestJournalResumes(t *testing.T) {
	path := writeJournal(t)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// A crash cut the last line.
	if _, err := file.WriteString(`{"target":"xz","seco`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	j, samples, err := ResumeJournal(path, "abc")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someSamples(), samples, cmp.AllowUnexported(interferer.Achieved{})); diff != "" {
		t.Fatal(diff)
	}
	if err := j.Keep(someSamples()[0]); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, samples, err = ResumeJournal(path, "abc")
	if err != nil || len(samples) != 3 {
		t.Fatalf("%d samples, %v; want 3 after appending", len(samples), err)
	}
	wantBusy(t, path)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := RemoveJournal(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ResumeJournal(path, "abc"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("after removal: %v", err)
	}
}

// wantBusy checks that nobody else opens or removes a journal that is open.
func wantBusy(t *testing.T, path string) {
	t.Helper()
	_, created := CreateJournal(path, "abc")
	_, _, resumed := ResumeJournal(path, "abc")
	for what, err := range map[string]error{"created": created, "resumed": resumed, "removed": RemoveJournal(path)} {
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "onboarding xz: wait") {
			t.Errorf("%s while it was open: %v", what, err)
		}
	}
}

func TestJournalRefuses(t *testing.T) {
	path := writeJournal(t)
	if _, _, err := ResumeJournal(path, "other"); !errors.Is(err, ErrOtherExperiment) {
		t.Errorf("another experiment: %v", err)
	}
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"another file", "hello\n", "line 1"},
		{"another version", `{"journal":"bandmate-samples-9","fingerprint":"abc"}` + "\n", "line 1"},
		{"negative time", `{"journal":"bandmate-samples-1","fingerprint":"abc"}` + "\n" + `{"target":"x","regime":"same-core","seconds":-1}` + "\n", "line 2"},
	} {
		_, _, err := parseJournal([]byte(test.text), "abc")
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "--resume") {
			t.Errorf("%s: %v, want %q and the remedy", test.name, err, test.want)
		}
	}
}

func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(`{"journal":"bandmate-samples-1","fingerprint":"abc"}` + "\n" + `{"target":"x","regime":"same-core","seconds":1}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, whole, err := parseJournal(data, "abc")
		if err != nil {
			return
		}
		if whole > int64(len(data)) {
			t.Fatalf("whole %d of %d bytes", whole, len(data))
		}
		for _, s := range samples {
			if s.Wall < 0 || s.Achieved.Elapsed < 0 {
				t.Fatalf("sample %+v", s)
			}
		}
	})
}

// Samples are hours of work: only one who asks for it gives them up.
func TestCreateJournalKeepsSamples(t *testing.T) {
	path := writeJournal(t)
	if _, err := CreateJournal(path, "other"); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "2 in "+path) {
		t.Fatalf("error %v, want ErrInterrupted with the count and the path", err)
	}
	j, samples, err := ResumeJournal(path, "abc")
	if err != nil || len(samples) != 2 {
		t.Fatalf("%d samples, %v: want both left", len(samples), err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := RemoveJournal(path); err != nil {
		t.Fatal(err)
	}
	for _, worthless := range []string{"", "not a journal\n", `{"journal":"bandmate-samples-1","fingerprint":"abc"}` + "\n"} {
		if err := os.WriteFile(path, []byte(worthless), 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := CreateJournal(path, "abc")
		if err != nil {
			t.Fatalf("over %q: %v", worthless, err)
		}
		wantBusy(t, path)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
