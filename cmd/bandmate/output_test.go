package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// profileOf is a small profile with a curve of one point.
func profileOf(name string) string {
	return strings.ReplaceAll(`apiVersion: bandmate.dev/v1alpha1
kind: ApplicationProfile
metadata:
  name: NAME
spec:
  machine: {name: here}
  measurement: {}
  solo: {seconds: 1, repeats: 3}
  contentiousness: {readBytesPerSecond: 15.0e9, writeBytesPerSecond: 5.0e9, source: probe}
  curves:
  - readShare: 0.5
    points:
    - {level: 1, interfererBytesPerSecond: 40.0e9, normalizedPerformance: 0.8, repeats: 3}
`, "NAME", name)
}

func storeOf(t *testing.T, names ...string) string {
	t.Helper()
	store := processtest.StoreWith(t)
	for _, name := range names {
		processtest.WriteFile(t, filepath.Join(store, "applications", name+"@here.yaml"), profileOf(name))
	}
	return store
}

// What cannot be written is an error, whoever wrote it.
func TestOutputOnFullDevice(t *testing.T) {
	store := storeOf(t, "a", "b")
	for _, args := range []string{
		"predict a b", "predict a b -o json", "predict a b -o yaml",
		"matrix", "matrix -o csv", "matrix -o json",
		"profiles list", "profiles list -o csv", "profiles show a", "profiles export",
		"sample floating-point --scale 0.01", "--help", "predict --help", "completion bash", "version",
	} {
		p := processtest.Prepare(t, "sh", "-c", "exec bandmate "+args+" --store "+store+" > /dev/full").Start()
		p.WantExit(1, "no space left on device")
	}
}

// A reader that goes away ends the program quietly, as it does any other.
func TestOutputIsClosed(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = "application-" + strings.Repeat("x", i+1)
	}
	store := storeOf(t, names...)
	for _, args := range []string{"matrix -o json", "matrix", "profiles export", "profiles list -o json", "predict application-x application-xx"} {
		// The pipe is closed before anything is written to it.
		p := processtest.Prepare(t, "sh", "-c", "{ sleep 0.1; bandmate "+args+" --store "+store+"; echo $? >&2; } | true").Start()
		p.Wait()
		if got := p.Stderr.String(); got != "141\n" {
			t.Errorf("%s: %q, want the exit code of SIGPIPE", args, got)
		}
	}
	p := processtest.Prepare(t, "sh", "-c", "bandmate matrix -o json --store "+store+" | tail -c 2").Start()
	p.WantExit(0)
	if got := p.Stdout.String(); got != "}\n" {
		t.Errorf("a large result ends in %q", got)
	}
}
