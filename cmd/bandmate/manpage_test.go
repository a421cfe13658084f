package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
)

var updateManual = flag.Bool("update-manual", false, "rewrite the manual pages in docs/man")

// The manual pages are what the commands say of themselves:
// go test ./cmd/bandmate -run TestManualPages -update-manual
func TestManualPages(t *testing.T) {
	root := testRoot()
	root.InitDefaultCompletionCmd()
	folder := filepath.Join("..", "..", "docs", "man")
	wanted := map[string]bool{}
	for _, cmd := range withChildren(root) {
		name := pageName(cmd) + ".1"
		wanted[name] = true
		page := manualPage(cmd)
		path := filepath.Join(folder, name)
		if *updateManual {
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
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !wanted[filepath.Base(file)] {
			t.Errorf("%s is of no command", file)
		}
	}
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

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
	title := pageName(cmd)
	fmt.Fprintf(&b, ".\\\" Made from the command line: cmd/bandmate/manpage_test.go.\n.TH %s 1 \"\" \"bandmate\" \"Bandmate Manual\"\n", strings.ToUpper(roff(title)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(title), roff(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n", roff(cmd.CommandPath()), roff(arguments(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, cmp.Or(cmd.Long, cmd.Short+"."))
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(child)), roff(child.Short))
			}
		}
	}
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "COMMON OPTIONS", cmd.InheritedFlags())
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 no such profile, 4 not measurable here, 5 a limit that was set is exceeded, 130 interrupted.\n")
	surroundings(&b, cmd)
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	b.WriteString(".SH SEE ALSO\n" + strings.Join(seeAlso(cmd), ",\n") + "\n")
	return b.Bytes()
}

// surroundings writes which variables and files a command reads.
func surroundings(b *bytes.Buffer, cmd *cobra.Command) {
	b.WriteString(".SH ENVIRONMENT\n")
	variables := [][2]string{
		{"BANDMATE_STORE", "folder of profiles, as --store"},
		{"BANDMATE_CONFIG", "file of settings, as --config"},
	}
	if isSlurm(cmd) {
		variables = append(variables,
			[2]string{"BANDMATE_SLURM_SITE", "file of applications, machines and memory domains, as --site"},
			[2]string{"BANDMATE_SLURM", "off keeps cli_filter.lua from asking"},
			[2]string{"SLURM_CONF", "configuration of the cluster, as for every command of Slurm"})
	}
	for _, v := range variables {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", v[0], roff(v[1]))
	}
	fmt.Fprintf(b, ".TP\n.B %s_...\nevery other flag, in capitals and with _ for \\-: see\n.BR bandmate\\-config (1)\n", strings.TrimSuffix(cli.VariableOf(cmd, ""), "_"))
	b.WriteString(".SH FILES\n.TP\n.I ~/.config/bandmate/config.yaml\nsettings, in $XDG_CONFIG_HOME where that is set\n")
	b.WriteString(".TP\n.I ~/.local/share/bandmate/profiles\nprofiles, in $XDG_DATA_HOME where that is set\n")
}

func isSlurm(cmd *cobra.Command) bool {
	return strings.HasPrefix(cmd.CommandPath()+" ", "bandmate slurm ")
}

// seeAlso names the commands above, below and beside.
func seeAlso(cmd *cobra.Command) []string {
	var pages []string
	reference := func(name string) { pages = append(pages, fmt.Sprintf(".BR %s (1)", roff(name))) }
	for parent := cmd.Parent(); parent != nil; parent = parent.Parent() {
		reference(pageName(parent))
	}
	family := cmd
	if cmd.HasParent() && cmd.Parent().HasParent() {
		family = cmd.Parent()
	}
	for _, other := range withChildren(family)[1:] {
		if other != cmd {
			reference(pageName(other))
		}
	}
	if isSlurm(cmd) {
		reference("sbatch")
		reference("scontrol")
	}
	return pages
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
	for i, block := range blocksOf(text) {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		switch block.kind {
		case prose:
			b.WriteString(roff(block.text) + "\n")
		case code:
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(block.text))
		case list:
			for _, item := range block.items() {
				fmt.Fprintf(b, ".IP \\(bu 2\n%s\n", roff(item))
			}
		}
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
