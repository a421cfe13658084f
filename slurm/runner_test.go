package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// command puts a shell script into PATH under a name of its own.
func command(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestCommands(t *testing.T) {
	hostile := "a b;$(touch pwned)`id`\n|&"
	command(t, "squeue-a", `printf '%s' "$2"`)
	out, err := Commands{}.Run(t.Context(), "squeue-a", "--name", hostile)
	if err != nil || string(out) != hostile {
		t.Errorf("arguments: %q, %v", out, err)
	}

	_, err = Commands{}.Run(t.Context(), "squeue-that-nobody-has")
	if !errors.Is(err, ErrNotInstalled) {
		t.Errorf("missing: %v", err)
	}

	command(t, "squeue-b", `echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1`)
	_, err = Commands{}.Run(t.Context(), "squeue-b")
	var ended *CommandError
	if !errors.Is(err, ErrUnreachable) || !errors.As(err, &ended) || ended.ExitCode != 1 {
		t.Errorf("unreachable: %v", err)
	}

	command(t, "squeue-c", `echo 'Invalid job id specified' >&2; exit 3`)
	_, err = Commands{}.Run(t.Context(), "squeue-c")
	if errors.Is(err, ErrUnreachable) || !errors.As(err, &ended) || ended.ExitCode != 3 || !strings.Contains(err.Error(), "Invalid job id") {
		t.Errorf("refused: %v", err)
	}

	command(t, "squeue-d", `i=0; while [ $i -lt 500 ]; do echo 0123456789 >&2; i=$((i+1)); done; exit 1`)
	_, err = Commands{}.Run(t.Context(), "squeue-d")
	if err == nil || len(err.Error()) > mostStderr+100 {
		t.Errorf("a long complaint: %d bytes", len(err.Error()))
	}
}

func TestCommandsEnd(t *testing.T) {
	// The child keeps the pipe open after the command has been killed.
	command(t, "squeue-slow", "sleep 60 &\nsleep 60")
	_, err := Commands{Timeout: 50 * time.Millisecond}.Run(t.Context(), "squeue-slow")
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("slow: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Commands{}.Run(ctx, "squeue-slow")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{
		"PATH=/bin", "SLURM_CONF=/c", "SLURM_CLUSTERS=alps", "LANG=de_DE.UTF-8", "LC_ALL=de_DE", "LC_TIME=de_DE",
		"SQUEUE_USERS=me", "SQUEUE_FORMAT=%i", "SINFO_PARTITION=x", "SLURM_TIME_FORMAT=relative", "SLURM_BITSTR_LEN=64",
	}, []string{"PATH=/other"})
	want := []string{"PATH=/bin", "SLURM_CONF=/c", "SLURM_CLUSTERS=alps", "LANG=C", "LC_ALL=C", "SLURM_TIME_FORMAT=standard", "SLURM_BITSTR_LEN=0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := environment(nil, []string{"PATH=/other"}); !slices.Contains(got, "PATH=/other") {
		t.Errorf("inherited: %q", got)
	}
}

// A cluster that SLURM_CLUSTERS names is read, and several are refused.
func TestClustersOfEnvironment(t *testing.T) {
	for named, refused := range map[string]bool{"": false, "alps": false, "alps,jura": true, "all": true} {
		_, err := Commands{Environment: []string{"PATH=" + os.Getenv("PATH"), "SLURM_CLUSTERS=" + named}}.Run(t.Context(), "true")
		if errors.Is(err, ErrSeveralClusters) != refused || !refused && err != nil {
			t.Errorf("SLURM_CLUSTERS=%s: %v, want refused %v", named, err, refused)
		}
	}
	for name, read := range map[string]func([]byte) error{
		"squeue-v0.0.41.json": func(data []byte) error { _, err := squeueJSON(data); return err },
		"sinfo-v0.0.41.json":  func(data []byte) error { _, err := sinfoJSON(data); return err },
	} {
		if err := read([]byte("CLUSTER: alps\n" + fixture(t, name))); err != nil {
			t.Errorf("%s after the name of a cluster: %v", name, err)
		}
	}
}

func TestCapture(t *testing.T) {
	c := capture{most: 5}
	for _, part := range []string{"abc", "def", "ghi"} {
		if n, err := fmt.Fprint(&c, part); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if string(c.kept) != "abcde" || c.dropped != 4 {
		t.Errorf("kept %q, dropped %d", c.kept, c.dropped)
	}
}
