package ticks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func prepare(t testing.TB, s Source) *Run {
	t.Helper()
	run, err := s.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	return run
}

func open(t testing.TB, run *Run, pid int) Counter {
	t.Helper()
	c, err := run.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// wantCount reads a counter that must yield a count, with an error or none.
func wantCount(t testing.TB, c Counter, want float64, wantErr error) {
	t.Helper()
	if n, err := c.Read(); n != want || !errors.Is(err, wantErr) {
		t.Errorf("count %v, %v; want %v, %v", n, err, want, wantErr)
	}
}

func TestPage(t *testing.T) {
	dir := t.TempDir()
	run := prepare(t, Page{Dir: dir})
	if !run.NeedsStart() {
		t.Error("a page is for programs that are started with it")
	}
	s := startRole(t, addRole, "1234", run.Env...)
	if !run.Found(s.pid) {
		t.Error("the program that counts has not mapped its page")
	}
	if other := startRole(t, addRole, "1"); run.Found(other.pid) {
		t.Error("a program that was not told of the page has mapped it")
	}
	c := open(t, run, s.pid)
	wantCount(t, c, 1234, nil)
	s.finish()
	wantCount(t, c, 1234, ErrEnded)
	wantCount(t, c, 1234, ErrEnded)
	if err := errors.Join(run.Close(), run.Close()); err != nil {
		t.Error(err)
	}
	if run.Found(s.pid) {
		t.Error("a program that has ended has its page mapped")
	}
	if left := pages(t, dir); len(left) > 0 {
		t.Errorf("%v left", left)
	}
	if _, err := run.Open(s.pid); !errors.Is(err, ErrEnded) {
		t.Errorf("opened a program that has ended: %v", err)
	}
}

func pages(t testing.TB, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, pagePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// A program may do anything to its page.
func TestPageAbused(t *testing.T) {
	run := prepare(t, Page{Dir: t.TempDir()})
	c := open(t, run, os.Getpid())
	file := run.Env[0][len("BANDMATE_PROGRESS="):]
	write := func(first byte) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte{first, 0, 0, 0, 0, 0, 0, first}, 0); err != nil {
			t.Fatal(err)
		}
	}
	write(2)
	if _, err := c.Read(); err != nil {
		t.Fatal(err)
	}
	write(1)
	if _, err := c.Read(); !errors.Is(err, ErrWentBack) {
		t.Errorf("the count fell: %v", err)
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(); !errors.Is(err, ErrLost) {
		t.Errorf("the page is empty: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Errorf("the page was removed: %v", err)
	}
}

// A page outlives its owner only until the next one looks.
func TestPageOfKilledOwner(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, filepath.Join(dir, pagePrefix+"LINK")); err != nil {
		t.Fatal(err)
	}
	living, killed := startRole(t, pageRole, dir), startRole(t, pageRole, dir)
	killed.kill()
	if _, err := os.Stat(killed.said); err != nil {
		t.Fatal("the page of a killed owner: ", err)
	}
	removeAbandoned(dir)
	if _, err := os.Stat(killed.said); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the page of a killed owner: %v, want it gone", err)
	}
	for _, want := range []string{living.said, foreign} {
		if _, err := os.Stat(want); err != nil {
			t.Error(err)
		}
	}
}

func TestPageWithoutFolder(t *testing.T) {
	if _, err := (Page{Dir: filepath.Join(t.TempDir(), "none")}).Prepare(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want %v", err, ErrUnavailable)
	}
}

func BenchmarkReadPage(b *testing.B) {
	c := open(b, prepare(b, Page{}), os.Getpid())
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
