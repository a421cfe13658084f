package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateManual = flag.Bool("update-manual", false, "rewrite the manual pages in docs/man")

// The manual pages are what the commands say of themselves:
// go test ./cmd/bandmate -run TestManualPages -update-manual
func TestManualPages(t *testing.T) {
	root := newRootCommand(&app{stdout: io.Discard, stderr: io.Discard, env: func(string) string { return "" }})
	slurmCommand, _, err := root.Find([]string{"slurm"})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "docs", "man")
	wanted := map[string]bool{}
	for _, cmd := range withChildren(slurmCommand) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		wanted[name] = true
		page := manualPage(cmd)
		path := filepath.Join(folder, name)
		if *updateManual {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, page, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		committed, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(committed, page) {
			t.Errorf("%s is not what the command says (%v): go test ./cmd/bandmate -run TestManualPages -update-manual", path, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "bandmate-slurm*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !wanted[filepath.Base(file)] {
			t.Errorf("%s is of no command", file)
		}
	}
}

func withChildren(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			all = append(all, withChildren(child)...)
		}
	}
	return all
}

// manualPage writes a page in the language of man(7).
func manualPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	title := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".\\\" Made from the command line: cmd/bandmate/manpage_test.go.\n.TH %s 1 \"\" \"bandmate\" \"Bandmate Manual\"\n", strings.ToUpper(roff(title)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(title), roff(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n", roff(cmd.CommandPath()), roff(arguments(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, cmd.Long)
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "COMMON OPTIONS", cmd.InheritedFlags())
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 no such profile, 4 not measurable here, 5 a limit that was set is exceeded, 130 interrupted.\n")
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range [][2]string{
		{"SLURM_CONF", "configuration of the cluster, as for every command of Slurm"},
		{"BANDMATE_STORE", "folder of profiles"},
		{"BANDMATE_SLURM_SITE", "file of applications, machines and memory domains"},
		{"BANDMATE_SLURM", "off keeps cli_filter.lua from asking"},
	} {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", v[0], roff(v[1]))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var others []string
	for _, other := range withChildren(cmd.Root().Commands()[slices.IndexFunc(cmd.Root().Commands(), func(c *cobra.Command) bool { return c.Name() == "slurm" })]) {
		if other != cmd {
			others = append(others, fmt.Sprintf(".BR %s (1)", roff(strings.ReplaceAll(other.CommandPath(), " ", "-"))))
		}
	}
	b.WriteString(".SH SEE ALSO\n" + strings.Join(others, ",\n") + ",\n.BR sbatch (1),\n.BR scontrol (1)\n")
	return b.Bytes()
}

// arguments is the line of usage behind the command's path.
func arguments(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.UseLine(), cmd.CommandPath())
	if cmd.HasAvailableSubCommands() && !strings.Contains(rest, "[command]") {
		rest += " [command]"
	}
	return strings.TrimSpace(rest)
}

func paragraphs(b *bytes.Buffer, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(paragraph) + "\n")
	}
}

func options(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(kind))
		}
		b.WriteString("\n" + roff(usage))
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0s" {
			fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// roff protects what the language of manual pages would read as its own.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "×", `\[mu]`, "≥", `\[>=]`, "…", "...", "·", `\[pc]`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
