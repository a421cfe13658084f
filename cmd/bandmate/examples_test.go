package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/root"
)

// TestExamples checks that every command line shown in the help texts and in
// the README is one: known command, known flags, right arguments. What the
// commands do is the business of the scripts.
func TestExamples(t *testing.T) {
	root := testRoot()
	lines, mentioned := readmeCommands(t)
	for _, text := range mentioned {
		if words, ok := bandmateWords(text); ok {
			if _, err := parses(words); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	walk(root, func(cmd *cobra.Command) {
		lines = append(lines, strings.Split(cmd.Example, "\n")...)
		if cmd.Example == "" && cmd.Runnable() && !cmd.Hidden && cmd.Parent() != nil && !builtIn(cmd) {
			t.Errorf("%s: the help shows no example", cmd.CommandPath())
		}
	})
	checked := 0
	for _, line := range commandsIn(lines) {
		if to := intoFile.FindStringSubmatch(line); to != nil && !strings.Contains(line, "-o "+to[1]) && !writesYAML.MatchString(line) {
			t.Errorf("%q writes text into a file of %s", strings.TrimSpace(line), to[1])
		}
		words, ok := bandmateWords(line)
		if !ok {
			continue
		}
		checked++
		cmd, err := parses(words)
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%q: %v", strings.TrimSpace(line), err)
		}
	}
	if checked < 20 {
		t.Errorf("only %d examples were found", checked)
	}
}

// intoFile finds what goes into a file, and writesYAML the commands that write nothing else.
var (
	intoFile   = regexp.MustCompile(`bandmate .* > \S+\.(yaml|json|csv)$`)
	writesYAML = regexp.MustCompile(`profiles export|onboard .*--kubernetes`)
)

// commandsIn splits lines that run several commands.
func commandsIn(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, regexp.MustCompile(` (&&|\||;) `).Split(line, -1)...)
	}
	return all
}

// builtIn is true for cobra's own commands.
func builtIn(cmd *cobra.Command) bool {
	return strings.HasPrefix(cmd.CommandPath(), "bandmate completion") || cmd.Name() == "help"
}

func testRoot() *cobra.Command {
	return root.New(&cli.App{Stdout: io.Discard, Stderr: io.Discard, Env: func(string) string { return "" }})
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, child := range cmd.Commands() {
		walk(child, visit)
	}
}

// readmeCommands returns the lines of the README, and the commands that it
// mentions within a sentence, where arguments may be missing.
func readmeCommands(t *testing.T) (lines, mentioned []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, inline := range regexp.MustCompile("`(bandmate [a-z][^`]*)`").FindAllStringSubmatch(string(text), -1) {
		mentioned = append(mentioned, inline[1])
	}
	return strings.Split(string(text), "\n"), mentioned
}

// bandmateWords splits a line that runs bandmate; redirections end it.
func bandmateWords(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "$ ")
	line = strings.Replace(line, "go run ./cmd/bandmate", "bandmate", 1)
	line = strings.TrimPrefix(line, "kubectl ")
	rest, ok := strings.CutPrefix(line, "bandmate ")
	if !ok || strings.Contains(rest, "COMMAND") {
		return nil, false
	}
	rest, _, _ = strings.Cut(rest, " >")
	rest, _, _ = strings.Cut(rest, " && ")
	words := strings.Fields(rest)
	return words, len(words) > 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[0])
}

// parses finds the command and reads its flags.
func parses(words []string) (*cobra.Command, error) {
	root := testRoot()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return nil, err
	}
	if cmd == root {
		return nil, cli.Usagef("no such command")
	}
	return cmd, cmd.ParseFlags(rest)
}
