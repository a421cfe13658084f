package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
)

//go:generate go test -count=1 -run TestCommandReference|TestDocumentation$ . -update-docs

// docs/reference/commands.md is what the commands say of themselves.
func TestCommandReference(t *testing.T) {
	path := filepath.Join(repository, "docs", "reference", "commands.md")
	page := commandReference(testRoot())
	if *updateDocs {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if committed, err := os.ReadFile(path); err != nil || !bytes.Equal(committed, page) {
		t.Errorf("%s is not what the commands say (%v): go generate ./cmd/bandmate", path, err)
	}
}

func commandReference(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\nWritten from the command line by `hack/generate.sh`; `bandmate COMMAND --help` says the\nsame. The exit codes have [a page of their own](exit-codes.md).\n\n")
	var commands []*cobra.Command
	walk(root, func(cmd *cobra.Command) {
		if cmd != root && !cmd.Hidden && !builtIn(cmd) && !strings.Contains(cmd.CommandPath(), " help") && cmd.Name() != "completion" {
			commands = append(commands, cmd)
		}
	})
	for _, cmd := range commands {
		indent := strings.Repeat("  ", strings.Count(cmd.CommandPath(), " ")-1)
		fmt.Fprintf(&b, "%s- [%s](#%s): %s\n", indent, cmd.CommandPath(), slugOf(cmd.CommandPath()), cmd.Short)
	}
	b.WriteString("\n## For every command\n\n")
	flagTable(&b, root.PersistentFlags())
	for _, cmd := range commands {
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		long := cmd.Long
		if long == "" {
			long = cmd.Short + "."
		}
		fmt.Fprintf(&b, "```text\n%s\n```\n", cmd.UseLine())
		for _, block := range blocksOf(long) {
			switch block.kind {
			case code:
				fmt.Fprintf(&b, "\n```text\n%s\n```\n", block.text)
			case prose, list:
				fmt.Fprintf(&b, "\n%s\n", escaped(block.text))
			}
		}
		if cmd.LocalNonPersistentFlags().HasAvailableFlags() || cmd != root && cmd.PersistentFlags().HasAvailableFlags() {
			b.WriteString("\n")
			flagTable(&b, cmd.NonInheritedFlags())
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", unindented(cmd.Example))
		}
	}
	return b.Bytes()
}

func flagTable(b *bytes.Buffer, flags *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		preset := ""
		if !slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) {
			preset = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, preset, escaped(strings.ReplaceAll(usage, "\n", " ")))
	})
}

// escaped keeps text from being read as Markdown.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", `\<`).Replace(text)
}

func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// The page of exit codes lists those that there are.
func TestExitCodesPage(t *testing.T) {
	path := filepath.Join(repository, "docs", "reference", "exit-codes.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var listed []int
	for _, match := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(page), -1) {
		code, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, code)
	}
	if want := []int{cli.ExitDone, cli.ExitFailed, cli.ExitUsage, cli.ExitNoProfile, cli.ExitNotMeasurable, cli.ExitLimit, cli.ExitInterrupted}; !slices.Equal(listed, want) {
		t.Errorf("%s lists %v, want %v", path, listed, want)
	}
}

// Profiles that the pages show can be read.
func TestDocumentedProfiles(t *testing.T) {
	profiles := 0
	for _, page := range readPages(t) {
		for block := 1; block < len(page.language); block++ {
			var text strings.Builder
			for i, line := range page.lines {
				if page.code[i] == block {
					text.WriteString(line + "\n")
				}
			}
			if page.language[block] != "yaml" || !regexp.MustCompile(`(?m)^apiVersion: bandmate.dev/.*\nkind: (Application|Machine)Profile$`).MatchString(text.String()) {
				continue
			}
			profiles++
			if _, err := v1alpha1.Decode([]byte(text.String())); err != nil {
				t.Errorf("%s: %v", page.path, err)
			}
		}
	}
	if profiles == 0 {
		t.Error("no page shows a profile")
	}
}
