package faults_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// interfererOf waits for the interferer of a test.
func interfererOf(t *testing.T) int {
	t.Helper()
	var found int
	processtest.Eventually(t, "an interferer", func() bool {
		for _, pid := range processtest.ProcessesOf(t) {
			if processtest.CommandOf(pid) == "bandmate-interferer" {
				found = pid
			}
		}
		return found != 0
	})
	return found
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
	processtest.WriteFile(t, a.path, applicationScript)
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
	if err := a.started.SetReadDeadline(time.Now().Add(processtest.Patience)); err != nil {
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
	processtest.Eventually(a.t, what, func() bool {
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
