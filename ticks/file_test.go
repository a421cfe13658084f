package ticks

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress")
	write(t, path, "99\n") // of an earlier run
	c := open(t, prepare(t, File{path}), os.Getpid())
	wantCount(t, c, 0, nil)
	for _, step := range []struct {
		text string
		want float64
	}{
		{"1", 1},
		{"", 1}, // being rewritten
		{"2.5\n", 2.5},
		{"step 7 of run\nno number here\n", 7},
		{"step 8\nstep 1", 8}, // an unfinished line
		{strings.Repeat("step 8\n", 2000) + "step 9\n", 9},
	} {
		write(t, path, step.text)
		wantCount(t, c, step.want, nil)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 9, nil)
	write(t, path+".new", "10\n")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 10, nil)
	write(t, path, "3 \n")
	if _, err := c.Read(); !errors.Is(err, ErrWentBack) {
		t.Errorf("from 10 to 3: %v", err)
	}
}

func TestFileIsFolder(t *testing.T) {
	if _, err := (File{t.TempDir()}).Prepare(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want %v", err, ErrUnavailable)
	}
}

func FuzzLastNumber(f *testing.F) {
	for _, text := range []string{"12", "step 3\n", "1e999\n", "-.5e-3\nx\n", "\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, ok := lastNumber(text, true); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			t.Errorf("%q: %v", text, n)
		}
	})
}

func BenchmarkReadFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "progress")
	c := open(b, prepare(b, File{path}), os.Getpid())
	write(b, path, strings.Repeat("step 8\n", 2000))
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
