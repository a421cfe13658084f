package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
)

const (
	// testVariable marks every process that a test starts, and what they start.
	testVariable = "BANDMATE_TEST_MARK"
	// patience is how long a test waits for what has to happen, on a machine
	// that others use as well.
	patience = 3 * time.Minute
)

// program is one run of the command line in a process of its own.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout lockedBuffer
	stderr lockedBuffer
	ended  chan struct{}
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.String()
}

// prepare is the command line, not started yet.
func prepare(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.Env = append(os.Environ(), markOf(t), "BANDMATE_STORE=/nowhere", "BANDMATE_CONFIG=/dev/null")
	return p
}

func (p *program) start() *program {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		for _, pid := range processesOf(p.t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return p
}

// bandmate runs a command line to its end.
func bandmate(t *testing.T, args ...string) *program {
	t.Helper()
	p := prepare(t, "bandmate", args...).start()
	p.wait()
	return p
}

func (p *program) wait() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s: still running; it said: %s", p.cmd, &p.stderr)
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wantExit checks the exit code and that one message holds all the parts.
func (p *program) wantExit(code int, message ...string) {
	p.t.Helper()
	p.wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%s: exit code %d, want %d: %s", p.cmd, got, code, &p.stderr)
	}
	for _, want := range message {
		if !strings.Contains(p.stderr.String(), want) {
			p.t.Errorf("%s: %q lacks %q", p.cmd, &p.stderr, want)
		}
	}
	if told := strings.Count(p.stderr.String(), "bandmate: "); code != 0 && told != 1 {
		p.t.Errorf("%s: %d messages, want one: %s", p.cmd, told, &p.stderr)
	}
	if strings.Contains(p.stderr.String(), "goroutine ") {
		p.t.Errorf("%s: a crash: %s", p.cmd, &p.stderr)
	}
}

// wantNobody checks that soon no process of the test is left.
func (p *program) wantNobody() {
	p.t.Helper()
	for _, pid := range scripttest.EventuallyGone(func() []int { return processesOf(p.t) }) {
		p.t.Errorf("still there: %d %s", pid, commandOf(pid))
	}
}

// markOf tells what this test starts from what the same test, run by somebody
// else, does.
func markOf(t *testing.T) string {
	return fmt.Sprintf("%s=%d-%s", testVariable, os.Getpid(), t.Name())
}

// processesOf lists the living processes that a test has started.
func processesOf(t *testing.T) []int { return scripttest.ProcessesWith(markOf(t)) }

// commandOf is the command line of a process; empty when it is gone.
func commandOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}

// interfererOf waits for the interferer of a test.
func interfererOf(t *testing.T) int {
	t.Helper()
	var found int
	eventually(t, "an interferer", func() bool {
		for _, pid := range processesOf(t) {
			if commandOf(pid) == "bandmate-interferer" {
				found = pid
			}
		}
		return found != 0
	})
	return found
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// storeWith makes a store that knows this machine as "here", so that nothing
// has to be calibrated.
func storeWith(t *testing.T) string {
	t.Helper()
	profile, err := os.ReadFile("testdata/machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "store")
	writeFile(t, filepath.Join(store, "machines", "here.yaml"), string(profile))
	return store
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filesIn lists the files below a folder, hidden ones too.
func filesIn(t *testing.T, dir string) string {
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

// onboardArgs is the smallest experiment: the solo control and the two probes.
func onboardArgs(store string, more ...string) []string {
	return append([]string{
		"onboard", "app", "--store", store, "--machine", "here", "--source", "probe", "--whole-runs",
		"--read-share", "100%", "--levels", "100%", "--repeats", "2", "--max-repeats", "2",
	}, more...)
}

// application is a shell script whose every run waits for the test: it says
// that it runs, and goes on as told.
type application struct {
	t       *testing.T
	path    string
	started *os.File
	orders  *os.File
}

const applicationScript = `#!/bin/sh
cd "$(dirname "$0")"
echo running > started
read order < orders
case $order in
work) sleep 0.03;;
stay|stay-deaf)
	[ $order = stay ] || trap '' TERM
	sleep 300 &
	setsid sleep 300 &
	setsid sh -c 'sleep 300 & sleep 300' &
	sleep 0.02
	echo staying > started
	wait; sleep 300;;
esac
`

func newApplication(t *testing.T) *application {
	t.Helper()
	dir := t.TempDir()
	a := &application{t: t, path: filepath.Join(dir, "app")}
	writeFile(t, a.path, applicationScript)
	if err := os.Chmod(a.path, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]**os.File{"started": &a.started, "orders": &a.orders} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		// Open for both, neither side has to wait for the other.
		if *file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*file).Close() })
	}
	return a
}

// running waits until a run has begun.
func (a *application) running() { a.says("running\n") }

func (a *application) says(word string) {
	a.t.Helper()
	if err := a.started.SetReadDeadline(time.Now().Add(patience)); err != nil {
		a.t.Fatal(err)
	}
	got := make([]byte, len(word))
	for n := 0; n < len(word); {
		m, err := a.started.Read(got[n:])
		if err != nil {
			a.t.Fatalf("the application does not say %q: %v", word, err)
		}
		n += m
	}
	if string(got) != word {
		a.t.Fatalf("the application says %q, want %q", got, word)
	}
}

// work lets the current run do its work and end.
func (a *application) work() { a.order("work\n") }

// workUntil has runs work, however many there are, until something holds.
func (a *application) workUntil(what string, holds func() bool) {
	a.t.Helper()
	word := make([]byte, len("running\n"))
	eventually(a.t, what, func() bool {
		if holds() {
			return true
		}
		if err := a.started.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			a.t.Fatal(err)
		}
		if _, err := io.ReadFull(a.started, word); err == nil {
			a.work()
		}
		return false
	})
}

// stay has the current run start children and not end.
func (a *application) stay() {
	a.t.Helper()
	a.order("stay\n")
	a.says("staying\n")
}

// stayDeaf is stay, and does not even end when asked to.
func (a *application) stayDeaf() {
	a.t.Helper()
	a.order("stay-deaf\n")
	a.says("staying\n")
}

func (a *application) order(word string) {
	a.t.Helper()
	if _, err := a.orders.WriteString(word); err != nil {
		a.t.Fatal(err)
	}
}

// journalOf reads the whole lines of an experiment's journal: a header and one
// line for each sample.
func journalOf(store string) []string {
	text, _ := os.ReadFile(filepath.Join(store, "interrupted", "app.jsonl"))
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	return strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
}
