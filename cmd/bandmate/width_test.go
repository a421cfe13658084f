package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// escapes are the sequences that colours are made of.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// printedOn runs a command line on a terminal and returns what was printed there.
func printedOn(t *testing.T, columns uint16, args []string, variables ...string) string {
	t.Helper()
	p := prepare(t, "bandmate", args...)
	s := onTerminalOf(p, columns, variables...)
	p.wait()
	eventually(t, "all output of "+strings.Join(args, " "), func() bool {
		select {
		case <-s.drained:
			return true
		default:
			return false
		}
	})
	return strings.ReplaceAll(s.raw.String(), "\r\n", "\n")
}

// ordinaryStore is a store with names as people give them.
func ordinaryStore(t *testing.T) string {
	t.Helper()
	store := storeOf(t, "postgres-15", "lammps", "xz", "sqlite", "stream-triad", "graph500-bfs", "nginx", "redis-server", "lu-decomposition")
	return store
}

// Everything that commands print of ordinary applications fits 80 columns, and is
// coloured where the terminal has colours only.
func TestEverythingFits(t *testing.T) {
	store := ordinaryStore(t)
	for _, line := range []string{
		"profiles list", "profiles show lu-decomposition", "matrix", "matrix xz sqlite",
		"predict lu-decomposition stream-triad", "predict xz sqlite lammps --explain",
		"pair postgres-15 lammps xz sqlite stream-triad graph500-bfs lu-decomposition",
		"config", "config --all", "doctor", "capability tree --machine knl-7210-quadrant --threads 64",
	} {
		args := append(strings.Fields(line), "--store", store)
		terminals := [][]string{{"TERM=xterm-256color", "NO_COLOR="}, {"TERM=dumb"}, {"TERM=xterm", "NO_COLOR=1"}}
		if line != "matrix" && line != "profiles list" {
			terminals = terminals[:1]
		}
		for _, variables := range terminals {
			text := printedOn(t, 80, args, variables...)
			if text == "" {
				t.Errorf("%s prints nothing", line)
			}
			plain := escapes.ReplaceAllString(text, "")
			if strings.ContainsRune(plain, '\x1b') || len(variables) == 1 && plain != text || variables[len(variables)-1] == "NO_COLOR=1" && plain != text {
				t.Errorf("%s with %v has escape sequences: %q", line, variables, text)
			}
			if line == "matrix" && variables[0] == "TERM=xterm-256color" && plain == text {
				t.Error("the heat map has no colours")
			}
			for l := range strings.SplitSeq(plain, "\n") {
				// What names the folder of the test is as long as its name.
				if width := uniseg.StringWidth(l); width > 80 && !strings.Contains(l, store) {
					t.Errorf("%s: %d columns: %s", line, width, l)
				}
			}
		}
		if piped := bandmate(t, args...).stdout.String(); strings.ContainsRune(piped, '\x1b') {
			t.Errorf("%s: escape sequences into a pipe", line)
		}
	}
}

// Help texts fit 80 columns; lines that are to be pasted may be longer.
func TestHelpFits(t *testing.T) {
	walk(testRoot(), func(cmd *cobra.Command) {
		examples := strings.Split(cmd.Example, "\n")
		for line := range strings.SplitSeq(cmd.Long+"\n\n"+cmd.UsageString(), "\n") {
			isExample := false
			for _, example := range examples {
				isExample = isExample || line == example
			}
			// Cobra's own last line has the command's path in it.
			isExample = isExample || strings.HasPrefix(line, "Use \"bandmate ")
			if width := uniseg.StringWidth(line); width > 82 && !isExample {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), width, line)
			}
		}
	})
}
