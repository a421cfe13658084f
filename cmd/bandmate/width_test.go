package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// escapes are the sequences that colors are made of.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// printedOn runs a command line on a terminal and returns what was printed there.
func printedOn(t *testing.T, columns uint16, args []string, variables ...string) string {
	t.Helper()
	p := processtest.Prepare(t, "bandmate", args...)
	s := processtest.OnTerminalOf(p, columns, variables...)
	p.Wait()
	processtest.Eventually(t, "all output of "+strings.Join(args, " "), func() bool {
		select {
		case <-s.Drained:
			return true
		default:
			return false
		}
	})
	return strings.ReplaceAll(s.Raw.String(), "\r\n", "\n")
}

// ordinaryStore is a store with names as people give them.
func ordinaryStore(t *testing.T) string {
	t.Helper()
	return storeOf(t, "postgres-15", "lammps", "xz", "sqlite", "stream-triad", "graph500-bfs", "nginx", "redis-server", "lu-decomposition")
}

// longSuffix makes names as long as build systems make them.
const longSuffix = "-of-the-nightly-build-for-x86-64-v3-with-a-name-that-nobody-would-type-by-hand"

// Everything that commands print of ordinary applications fits 80 columns, and is
// colored where the terminal has colors only.
func TestEverythingFits(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	store := ordinaryStore(t)
	for _, line := range printedLines {
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
				t.Error("the heat map has no colors")
			}
			clitest.WantFits(t, line, plain)
		}
		p := processtest.Bandmate(t, args...)
		p.WantExit(0)
		if strings.ContainsRune(p.Stdout.String(), '\x1b') {
			t.Errorf("%s: escape sequences into a pipe", line)
		}
	}
}

// Long names are cut in tables, and elsewhere have a line for themselves.
func TestLongNamesFit(t *testing.T) {
	var names []string
	for _, name := range []string{"xz", "sqlite", "lammps", "stream-triad", "postgres-15", "graph500-bfs", "lu-decomposition"} {
		names = append(names, name+longSuffix)
	}
	store := storeOf(t, names...)
	lines := []string{"predict xz nobody", "predict xz sqlite --max-slowdown 1.001", "profiles delete nobody"}
	for _, line := range printedLines {
		switch command, _, _ := strings.Cut(line, " "); command {
		case "profiles", "matrix", "predict", "pair", "slurm":
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		var args []string
		for word := range strings.FieldsSeq(line) {
			if i := slices.IndexFunc(names, func(name string) bool { return name == word+longSuffix }); i >= 0 || word == "nobody" {
				word += longSuffix
			}
			args = append(args, word)
		}
		text := printedOn(t, 80, append(args, "--store", store), "TERM=xterm-256color")
		clitest.WantFits(t, line, escapes.ReplaceAllString(text, ""))
	}
}

// Tables keep their columns on a terminal of 60 columns, and in a pipe have one line of
// bounded width a row.
func TestTablesKeepColumns(t *testing.T) {
	var names []string
	for _, name := range []string{"xz", "sqlite", "lammps", "stream-triad"} {
		names = append(names, name, name+longSuffix)
	}
	store := storeOf(t, names...)
	for _, table := range []struct {
		line        string
		first, rows int
		fields      int // of a row, of which none has a space
	}{
		{"profiles list", 2, len(names), 6},
		{"pair", 0, len(names) / 2, 5},
		{"slurm advise --application xz -p all --squeue testdata/width/squeue.json --sinfo testdata/width/sinfo.json", 2, 3, 4},
	} {
		args := append(strings.Fields(table.line), "--store", store)
		piped := processtest.Bandmate(t, args...)
		piped.WantExit(0)
		texts := map[int]string{60: printedOn(t, 60, args, "TERM=dumb")}
		if !strings.HasPrefix(table.line, "slurm") { // whose lines are as long as those of squeue
			texts[80] = piped.Stdout.String()
		}
		for width, text := range texts {
			lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
			if len(lines) < table.first+table.rows {
				t.Errorf("%s in %d columns: %d lines:\n%s", table.line, width, len(lines), text)
				continue
			}
			for i, row := range lines[:table.first+table.rows] {
				if w := uniseg.StringWidth(row); w > width {
					t.Errorf("%s in %d columns: %d in line %d: %s", table.line, width, w, i+1, row)
				}
				if i >= table.first && len(strings.Fields(row)) < table.fields {
					t.Errorf("%s in %d columns: line %d is no row: %s", table.line, width, i+1, row)
				}
			}
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
