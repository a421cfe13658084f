package main

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/ticks/progress"
)

// The samples count their ticks in the page they are given.
func TestSamplesCount(t *testing.T) {
	for name, want := range map[string]uint64{
		"triad": 1024, "radix-sort": 64 * 1024, "stencil": 16 * 176,
		"conjugate-gradient": 6144, "pointer-chase": 4096, "floating-point": 2048,
	} {
		run, err := ticks.Page{Dir: t.TempDir()}.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		p := processtest.Prepare(t, "bandmate", "sample", "--scale", "1e-9", name)
		p.Cmd.Env = append(p.Cmd.Env, run.Env...)
		p.Start().WantExit(0)
		page, err := os.ReadFile(strings.TrimPrefix(run.Env[0], progress.Variable+"="))
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.NativeEndian.Uint64(page); got != want {
			t.Errorf("%s: %d ticks, want %d", name, got, want)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
}
