package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// asks is how each shell is asked, without a terminal, what it would propose for a
// line: @SCRIPT@ is the script that bandmate completion prints.
var asks = map[string]string{
	// Bash calls the function that the script registers, as on a key press.
	"bash": `
source @SCRIPT@
COMP_WORDS=(@LINE@) COMP_LINE='@LINE@' COMP_TYPE=9 COMP_KEY=9
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
# What the package bash-completion would provide.
_get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}
__start_bandmate
printf '%s\n' "${COMPREPLY[@]}"`,
	// The parts of zsh that need its line editor are replaced.
	"zsh": `
compdef() { true }
_describe() { print -l -- "${completions[@]}" }
_arguments() { true }
source @SCRIPT@
words=(@LINE@)
CURRENT=${#words}
_bandmate`,
	"fish": `
source @SCRIPT@
complete -C '@LINE@'`,
}

// The scripts that bandmate completion prints are run by the shells themselves.
func TestCompletionInShells(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	store := storeOf(t, "postgres", "povray", "xz")
	for shell, ask := range asks {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				requires.Unmet(t, "needs %s", shell)
			}
			script := filepath.Join(t.TempDir(), "completion")
			processtest.WriteFile(t, script, processtest.Bandmate(t, "completion", shell).Stdout.String())
			for _, test := range []struct {
				line       string
				want, lack []string
			}{
				{"bandmate pred", []string{"predict"}, []string{"profiles"}},
				{"bandmate predict po", []string{"postgres", "povray"}, []string{"xz"}},
				{"bandmate predict povray po", []string{"postgres"}, nil},
				{"bandmate matrix --output js", []string{"json"}, []string{"yaml"}},
				{"bandmate matrix --method lin", []string{"linear-"}, []string{"memgen"}},
				{"bandmate profiles sh", []string{"show"}, []string{"import"}},
			} {
				p := processtest.Prepare(t, shell, "-c", strings.NewReplacer("@SCRIPT@", script, "@LINE@", test.line).Replace(ask))
				p.Cmd.Env = append(p.Cmd.Env, "BANDMATE_STORE="+store, "TERM=xterm", "HOME="+t.TempDir())
				p.Start().Wait()
				got := p.Stdout.String()
				for _, want := range test.want {
					if !strings.Contains(got, want) {
						t.Errorf("%s⇥: %q lacks %q: %s", test.line, got, want, &p.Stderr)
					}
				}
				if shell == "zsh" {
					continue // its line editor leaves out what does not fit
				}
				for _, lack := range test.lack {
					if strings.Contains(got, lack) {
						t.Errorf("%s⇥: %q has %q", test.line, got, lack)
					}
				}
			}
		})
	}
}

// What is proposed does not depend on a shell, and a broken store or configuration
// proposes nothing rather than failing.
func TestCompletion(t *testing.T) {
	store := storeOf(t, "postgres", "xz")
	slurm := t.TempDir()
	for name, prints := range map[string]string{
		"squeue": `CLUSTER: alps\n7\tlammps, RUNNING\n8_1\txz, PENDING\n`,
		"sinfo":  `share\nlong\n`,
	} {
		script := "#!/bin/sh\nprintf '" + prints + "'\n"
		if err := os.WriteFile(filepath.Join(slurm, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"predict", ""}, []string{"postgres", "xz"}},
		{[]string{"predict", "xz", ""}, []string{"postgres"}},
		{[]string{"predict", "--machine", ""}, []string{"here"}},
		{[]string{"onboard", "--pattern", ""}, []string{"sequential", "random"}},
		{[]string{"matrix", "-o", ""}, []string{"text", "json", "yaml", "csv"}},
		{[]string{"predict", "-o", ""}, []string{"text", "json", "yaml"}},
		{[]string{"slurm", "watch", "--mode", ""}, []string{"observe", "advise", "enforce"}},
		{[]string{"slurm", "advise", "--objective", ""}, []string{"added-cost", "worst-slowdown"}},
		{[]string{"slurm", "advise", "--unknown", ""}, []string{"ignore", "avoid"}},
		{[]string{"slurm", "advise", "--domain", ""}, []string{"node", "socket"}},
		{[]string{"slurm", "advise", "--job", ""}, []string{"7\tlammps, RUNNING", "8_1\txz, PENDING"}},
		{[]string{"slurm", "advise", "--application", ""}, []string{"postgres", "xz"}},
		{[]string{"slurm", "advise", "-p", ""}, []string{"share", "long"}},
		{[]string{"slurm", "pair", "--partition", ""}, []string{"share", "long"}},
		{[]string{"slurm", "onboard", "--partition", ""}, []string{"share", "long"}},
		{[]string{"capability", "race", "--operation", ""}, []string{"barrier", "broadcast", "reduce"}},
		{[]string{"capability", "tree", "--operation", ""}, []string{"broadcast", "reduce"}},
		{[]string{"capability", "tree", "--shape", ""}, []string{"optimal", "flat", "binary", "binomial"}},
		{[]string{"machine", "network", "--model", ""}, []string{"gigabit-ethernet", "myrinet", "infiniband"}},
		{[]string{"measure", "--format", ""}, []string{"perf-csv", "perf-json", "pcm", "likwid"}},
		{[]string{"config", "slurm", "wa"}, []string{"watch"}},
	} {
		p := processtest.Prepare(t, "bandmate", append([]string{"__complete"}, test.args...)...)
		p.Cmd.Env = append(p.Cmd.Env, "BANDMATE_STORE="+store, "PATH="+slurm)
		p.Start().Wait()
		var got []string
		for line := range strings.SplitSeq(p.Stdout.String(), "\n") {
			if line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "_activeHelp_") {
				got = append(got, line)
			}
		}
		if test.args[0] == "config" {
			got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "wa") })
		}
		if p.Cmd.ProcessState.ExitCode() != 0 || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q: %s", test.args, got, test.want, &p.Stderr)
		}
	}
	broken := processtest.Prepare(t, "bandmate", "__complete", "predict", "")
	broken.Cmd.Env = append(broken.Cmd.Env, "BANDMATE_CONFIG="+writeIn(t, "c.yaml", "nonsense"), "BANDMATE_STORE="+store)
	broken.Start().WantExit(0)
}
