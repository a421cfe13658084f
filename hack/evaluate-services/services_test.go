package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where the sets are not made, their intersection would be timed as that of empty ones.
func TestSetsThatAreNotMade(t *testing.T) {
	programs := t.TempDir()
	for name, text := range map[string]string{
		"redis-server": "exit 0",
		"redis-cli":    `case "$*" in *eval*) echo "$answer"; [ "$answer" = OK ];; esac`,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	for answer, made := range map[string]bool{"OK": true, "ERR": false} {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `set -euo pipefail; scratch=$1; source ../services.sh; port[sets]=1; prepare_sets`, "bash", t.TempDir())
		cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "answer="+answer)
		if output, err := cmd.CombinedOutput(); (err == nil) != made || !made && !strings.Contains(string(output), answer) {
			t.Errorf("%s: %v, %s", answer, err, output)
		}
	}
}
