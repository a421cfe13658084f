// Package processtest runs programs as a user does, on a terminal or not, and checks how they
// end: exit code, messages, and that nothing stays behind.
package processtest

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// testVariable marks every process that a test starts, and what they start.
	testVariable = "BANDMATE_TEST_MARK"
	// Patience is how long a test waits for what has to happen, on a machine
	// that others use as well.
	Patience = 3 * time.Minute
)

// Program is one run of a program in a process of its own.
type Program struct {
	T *testing.T
	// Cmd may be changed until the program is started.
	Cmd            *exec.Cmd
	Stdout, Stderr Buffer
	// Ended is closed once the program has ended.
	Ended chan struct{}
}

// Buffer may be read while it is written.
type Buffer struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.String()
}

// Prepare returns a program that is not started yet. It has no store and no configuration file.
func Prepare(t *testing.T, name string, args ...string) *Program {
	t.Helper()
	p := &Program{T: t, Cmd: exec.Command(name, args...), Ended: make(chan struct{})}
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Stdout, &p.Stderr
	p.Cmd.Env = append(os.Environ(), MarkOf(t), "BANDMATE_STORE=/nowhere", "BANDMATE_CONFIG=/dev/null")
	return p
}

// Start starts the program. It, and all that it started, is killed when the test ends.
func (p *Program) Start() *Program {
	p.T.Helper()
	if err := p.Cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	go func() {
		_ = p.Cmd.Wait()
		close(p.Ended)
	}()
	p.T.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Ended
		for _, pid := range ProcessesOf(p.T) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return p
}

// Bandmate runs bandmate to its end.
func Bandmate(t *testing.T, args ...string) *Program {
	t.Helper()
	p := Prepare(t, "bandmate", args...).Start()
	p.Wait()
	return p
}

// Wait waits for the end of the program.
func (p *Program) Wait() {
	p.T.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		p.T.Fatalf("%s: still running; it said: %s", p.Cmd, &p.Stderr)
	}
}

// Signal sends the program a signal.
func (p *Program) Signal(s syscall.Signal) {
	p.T.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// WantExit waits for the end, and checks the exit code and that one message holds all the parts.
func (p *Program) WantExit(code int, message ...string) {
	p.T.Helper()
	p.Wait()
	if got := p.Cmd.ProcessState.ExitCode(); got != code {
		p.T.Errorf("%s: exit code %d, want %d: %s", p.Cmd, got, code, &p.Stderr)
	}
	for _, want := range message {
		if !strings.Contains(p.Stderr.String(), want) {
			p.T.Errorf("%s: %q lacks %q", p.Cmd, &p.Stderr, want)
		}
	}
	if told := strings.Count(p.Stderr.String(), "bandmate: "); code != 0 && told != 1 {
		p.T.Errorf("%s: %d messages, want one: %s", p.Cmd, told, &p.Stderr)
	}
	if strings.Contains(p.Stderr.String(), "goroutine ") {
		p.T.Errorf("%s: a crash: %s", p.Cmd, &p.Stderr)
	}
}

// WantNobody checks that soon no process of the test is left.
func (p *Program) WantNobody() {
	p.T.Helper()
	for _, pid := range EventuallyGone(func() []int { return ProcessesOf(p.T) }) {
		p.T.Errorf("still there: %d %s", pid, CommandOf(pid))
	}
}

// MarkOf returns a variable, as NAME=VALUE, that tells what this test starts from what the same test, run by somebody
// else, does.
func MarkOf(t *testing.T) string {
	return fmt.Sprintf("%s=%d-%s", testVariable, os.Getpid(), t.Name())
}

// ProcessesOf lists the living processes that a test has started.
func ProcessesOf(t *testing.T) []int { return ProcessesWith(MarkOf(t)) }

// CommandOf returns the command line of a process; empty when it is gone.
func CommandOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}

// Eventually waits until something holds.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// MachineProfile is the profile of a machine named "here", with all that is measured of one.
//
//go:embed machine.yaml
var MachineProfile string

// StoreWith makes a store that knows this machine as "here", so that nothing
// has to be calibrated.
func StoreWith(t *testing.T) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "store")
	WriteFile(t, filepath.Join(store, "machines", "here.yaml"), MachineProfile)
	return store
}

// WriteFile writes a file, and makes the folder that holds it.
func WriteFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FilesIn lists the files below a folder, hidden ones too, separated by spaces.
func FilesIn(t *testing.T, dir string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}
