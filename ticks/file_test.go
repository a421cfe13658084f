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

func TestFileAppended(t *testing.T) {
	for _, earlier := range []string{"step 1000\n", "step 1000\nstep 10", "5", strings.Repeat("step 1000\n", 1000)} {
		path := filepath.Join(t.TempDir(), "log")
		write(t, path, earlier)
		c := open(t, prepare(t, File{path}), os.Getpid())
		text := earlier
		for _, step := range []struct {
			text string
			want float64
		}{
			{"", 0},
			{" starting the solver\n", 0},
			{"step 1\n", 1},
			{"step 2", 1}, // an unfinished line
			{"5\n", 25},
			{strings.Repeat("step 25\n", 2000) + "step 26\n", 26},
		} {
			text += step.text
			write(t, path, text)
			wantCount(t, c, step.want, nil)
		}
	}
}

// A file that is written anew over an earlier, longer or shorter one is read from its begin.
func TestFileWrittenOver(t *testing.T) {
	for _, earlier := range []string{"9\n", "1\n", "1000\n"} {
		path := filepath.Join(t.TempDir(), "progress")
		write(t, path, earlier)
		c := open(t, prepare(t, File{path}), os.Getpid())
		for _, step := range []struct {
			text string
			want float64
		}{{"2\n", 2}, {"30\n", 30}, {"1001\n", 1001}} {
			write(t, path, step.text)
			wantCount(t, c, step.want, nil)
		}
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
