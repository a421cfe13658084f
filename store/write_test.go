package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/store"
)

// Environment of the processes that the tests start.
const (
	roleVariable = "BANDMATE_STORE_TEST_ROLE"
	dirVariable  = "BANDMATE_STORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role, os.Getenv(dirVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play is what a started process does.
func play(role, dir string) error {
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	switch role {
	case "full disk":
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
			return err
		}
		return s.Put(application("a", "m", 2))
	case "writer":
		for i := range 30 {
			if err := s.Put(application("a", "m", float64(i+1))); err != nil {
				return err
			}
		}
		return nil
	case "endless writer":
		fmt.Println("started")
		for i := 1; ; i++ {
			if err := s.Put(application("a", "m", float64(i))); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("no role %q", role)
}

func process(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	return cmd
}

func wantOldProfile(t *testing.T, s *store.Store) {
	t.Helper()
	p, err := s.Application("a", "m")
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.Solo.Seconds != 1 {
		t.Errorf("the profile was replaced: %v", p.Spec.Solo)
	}
}

func TestFullDiskKeepsTheOldFile(t *testing.T) {
	s := filled(t, application("a", "m", 1))
	out, err := process(t, "full disk", s.Dir()).CombinedOutput()
	if err == nil {
		t.Fatal("writing beyond the limit succeeded")
	}
	if !strings.Contains(string(out), "make room") {
		t.Errorf("no remedy in %q", out)
	}
	wantOldProfile(t, s)
	if got := files(t, s); got != "applications/a@m.yaml" {
		t.Errorf("left behind: %s", got)
	}
}

// What a killed writer left is removed by a later write, once it is old: a
// young one may belong to a live writer.
func TestStaleTemporaryFiles(t *testing.T) {
	s := filled(t, application("a", "m", 1))
	dir := filepath.Join(s.Dir(), "applications")
	const young, stale, foreign = ".a@m.yaml111", ".b@m.yaml222", ".notes.yaml"
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{young, stale, foreign} {
		write(t, filepath.Join(dir, name), "x")
		if name != young {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, s, application("a", "m", 2))
	if got, want := files(t, s), "applications/.a@m.yaml111 applications/.notes.yaml applications/a@m.yaml"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
}

func TestKillNeverTearsAFile(t *testing.T) {
	s := filled(t, application("a", "m", 1))
	for range 5 {
		cmd := process(t, "endless writer", s.Dir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it started
			t.Error(err)
		}
		time.Sleep(3 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("an endless writer ended by itself")
		}
		if _, err := s.Application("a", "m"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConcurrentGoroutines(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "new"))
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 5 {
				if err := errors.Join(
					s.Put(application("shared", "m", float64(1+j))),
					s.Put(application(fmt.Sprintf("own-%d", i), "m", float64(1+j))),
				); err != nil {
					t.Error(err)
				}
				if _, err := s.Application("shared", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := len(strings.Fields(names(t, s))); got != 17 {
		t.Errorf("%d profiles, want 17", got)
	}
	if got := len(strings.Fields(files(t, s))); got != 17 {
		t.Errorf("files left behind: %s", files(t, s))
	}
}

func TestConcurrentProcesses(t *testing.T) {
	s := filled(t, application("a", "m", 1))
	var group sync.WaitGroup
	for range 2 {
		cmd := process(t, "writer", s.Dir())
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if _, err := s.Application("a", "m"); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.Application("a", "m")
	if err != nil || p.Spec.Solo.Seconds != 30 {
		t.Errorf("the last write is lost: %v, %v", p, err)
	}
	if got := files(t, s); got != "applications/a@m.yaml" {
		t.Errorf("left behind: %s", got)
	}
}

func TestSomethingInTheWay(t *testing.T) {
	s := open(t, t.TempDir())
	write(t, filepath.Join(s.Dir(), "applications"), "")
	wantError(t, s.Put(application("a", "m", 1)), "move it away")
	if _, _, err := s.Applications(); err == nil {
		t.Error("a file in place of the folder passes for an empty store")
	}
	if err := os.MkdirAll(filepath.Join(s.Dir(), "machines", "m.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Put(machine("m")), "m.yaml")
	if got := files(t, s); got != "applications" {
		t.Errorf("left behind: %s", got)
	}
}

// obeyPermissions takes from this test what lets root read and write every file.
func obeyPermissions(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err := unix.Capset(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
}

func TestPermissions(t *testing.T) {
	obeyPermissions(t)
	s := filled(t, machine("m"), machine("n"))
	file := filepath.Join(s.Dir(), "machines", "m.yaml")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	machines, broken, err := s.Machines()
	if err != nil || len(machines) != 1 || len(broken) != 1 {
		t.Errorf("%d machines, broken %v, %v", len(machines), broken, err)
	}
	dir := filepath.Dir(file)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	wantError(t, s.Put(machine("o")), "permission denied", "--store")
	wantError(t, s.Delete("MachineProfile", "n", ""), "permission denied", "--store")
}
