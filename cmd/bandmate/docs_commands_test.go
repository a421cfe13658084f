package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
)

// updateDocs writes what commands print into the pages that show it:
// go test ./cmd/bandmate -run TestDocumentation -update-docs
var updateDocs = flag.Bool("update-docs", false, "write into the pages of the documentation what the commands print, and the reference")

const (
	// exceptionsPage lists the commands that TestDocumentation does not run.
	exceptionsPage = "docs/reference/not-run.md"
	// docsNeeds names the sections of that page whose commands are run none
	// the less, separated by commas: where their need is met.
	docsNeeds = "BANDMATE_DOCS_RUN"
	// needsTime is the section of what no two runs print the same, needsSlurm that of
	// what hack/e2e-slurm-guide.sh runs on a cluster.
	needsTime, needsSlurm = "measuring", "slurm"
	// elided stands on a page for any number of lines of output.
	elided = "…"
)

// shown is a command that a page shows.
type shown struct {
	page *markdown
	// line is that of the command, counted from 0; output follows it, up to
	// but without end.
	line, end int
	text      string
	// run is what is run for it; empty for the text itself.
	run string
}

func (s shown) place() string { return fmt.Sprintf("%s:%d", s.page.path, s.line+1) }

func (s shown) output() []string {
	indent := s.page.lines[s.line][:len(s.page.lines[s.line])-len(strings.TrimLeft(s.page.lines[s.line], " "))]
	var lines []string
	for _, line := range s.page.lines[min(s.line+1+strings.Count(s.text, "\n"), s.end):s.end] {
		lines = append(lines, strings.TrimPrefix(line, indent))
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// programs begin a line that is a command in a block that has no prompts, so
// that none hides by lacking one.
var programs = regexp.MustCompile(`^(sudo |env )?(bandmate|kubectl|helm|docker|go|make|git|sbatch|scontrol|squeue|systemctl|sysctl|modprobe|mount|setcap|install|ln|cd|eval|export|echo|apt-get|rm|hack/\S+|\.ci/run)( |$)`)

// harmless are the programs that are run unasked. A command that starts another
// one, or bandmate against a cluster, is an exception.
var harmless = []string{"bandmate", "cat", "cd", "cp", "cut", "echo", "export", "head", "jq", "ls", "sort", "tail", "wc"}

// commands are those of a page: lines with a prompt in blocks of code, every
// line of a block of the language sh, and lines that begin with a known program
// in other blocks without prompts. A line that ends in a backslash goes on.
func (m *markdown) commands() []shown {
	var found []shown
	for i := 0; i < len(m.lines); {
		if m.code[i] == 0 {
			i++
			continue
		}
		end := i
		for end < len(m.lines) && m.code[end] == m.code[i] {
			end++
		}
		found = append(found, m.commandsOf(i, end)...)
		i = end
	}
	return found
}

func (m *markdown) commandsOf(begin, end int) []shown {
	language := m.language[m.code[begin]]
	if language != "" && language != "sh" && language != "console" {
		return nil
	}
	prompts := slices.ContainsFunc(m.lines[begin:end], func(line string) bool {
		return strings.HasPrefix(strings.TrimLeft(line, " "), "$ ")
	})
	var found []shown
	for i := begin; i < end; i++ {
		line := strings.TrimSpace(m.lines[i])
		text, prompted := strings.CutPrefix(line, "$ ")
		if prompts && !prompted || !prompts && (language == "console" || language != "sh" && !programs.MatchString(line)) || text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if len(found) > 0 && found[len(found)-1].end > i {
			found[len(found)-1].end = i
		}
		c := shown{page: m, line: i, end: end, text: text}
		for strings.HasSuffix(c.text, `\`) && i+1 < end {
			i++
			c.text += "\n" + strings.TrimSpace(m.lines[i])
		}
		found = append(found, c)
	}
	return found
}

// exception is a command, or several, that are not run here.
type exception struct {
	need string
	// pattern is that of the command's text; … in it stands for anything.
	pattern *regexp.Regexp
	source  string
	used    bool
}

// readExceptions reads the items of the page of exceptions, and checks that the
// scripts that it names exist.
func readExceptions(pages []*markdown) []*exception {
	at := slices.IndexFunc(pages, func(m *markdown) bool { return m.path == exceptionsPage })
	if at < 0 {
		return nil
	}
	var found []*exception
	need := ""
	item := regexp.MustCompile("^- `([^`]+)`")
	for _, line := range pages[at].lines {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			need = slugOf(heading)
		}
		if match := item.FindStringSubmatch(line); match != nil {
			parts := strings.Split(match[1], elided)
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			found = append(found, &exception{need: need, source: match[1], pattern: regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")})
		}
	}
	return found
}

// TestDocumentation runs every command of every page, in a copy of docs/example,
// and compares what it prints with what the page shows. The commands of
// docs/reference/not-run.md are not run; those of bandmate among them have to be
// command lines that it understands.
func TestDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("pages are run without the race detector, which makes their measurements slow; TestScripts runs commands with it")
	}
	pages := readPages(t)
	exceptions := readExceptions(pages)
	wanted := strings.Split(os.Getenv(docsNeeds), ",")
	ran, home := 0, homeWithoutTelemetry(t)
	for _, page := range pages {
		var steps []shown
		for _, c := range page.commands() {
			checkCommandLine(t, c)
			at := slices.IndexFunc(exceptions, func(e *exception) bool { return e.pattern.MatchString(c.text) })
			if at >= 0 {
				exceptions[at].used = true
				if !slices.Contains(wanted, exceptions[at].need) {
					continue
				}
			} else if program := c.notHarmless(); program != "" {
				t.Errorf("%s: %q starts %s, which is not run unasked: list it in %s, with the script that runs it", c.place(), c.text, program, exceptionsPage)
				continue
			}
			steps = append(steps, c)
		}
		if len(steps) == 0 || page.path == exceptionsPage {
			continue
		}
		ran += len(steps)
		t.Run(page.path, func(t *testing.T) {
			if slices.Contains(wanted, needsSlurm) {
				steps = onCluster(t, steps)
			}
			runPage(t, page, steps, home, !slices.Contains(wanted, needsTime))
		})
	}
	for _, e := range exceptions {
		if !e.used {
			t.Errorf("%s: no page shows %q", exceptionsPage, e.source)
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands were found to run", ran)
	}
}

// homeWithoutTelemetry is a folder in which the go command, which a page asks for
// its paths, does not count what it is asked: a child of it may still write there
// when the folder is removed.
func homeWithoutTelemetry(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	telemetry := filepath.Join(home, ".config", "go", "telemetry")
	if err := errors.Join(os.MkdirAll(telemetry, 0o755), os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return home
}

// checkCommandLine checks that every bandmate in a command is called as its
// help says.
func checkCommandLine(t *testing.T, c shown) {
	t.Helper()
	for _, words := range bandmateCalls(c.text) {
		cmd, err := parses(words)
		if err == nil && !slices.Contains(words, "--help") {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %q: %v", c.place(), c.text, err)
		}
	}
}

// notHarmless is the first program that is not run unasked, or empty.
func (s shown) notHarmless() string {
	for _, words := range shellWords(s.text) {
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:]
		}
		if len(words) > 0 && !slices.Contains(harmless, words[0]) {
			return words[0]
		}
	}
	return ""
}

// bandmateCalls returns the arguments of each bandmate that a shell command
// starts, as written.
func bandmateCalls(command string) [][]string {
	var calls [][]string
	for _, words := range shellWords(command) {
		for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "sudo" || words[0] == "kubectl") {
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/bandmate" {
			words = words[2:]
		}
		if len(words) > 1 && filepath.Base(words[0]) == "bandmate" {
			calls = append(calls, words[1:])
		}
	}
	return calls
}

// shellWords splits a line into commands and these into words, as far as the
// pages need it: quotes, pipes, lists, redirections, comments.
func shellWords(line string) [][]string {
	var commands [][]string
	var words []string
	var word strings.Builder
	quote, inWord, target := rune(0), false, false
	endWord := func() {
		if inWord && !target {
			words = append(words, word.String())
		}
		if inWord {
			target = false
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == '\\' && i+1 < len(runes):
			i++
			if runes[i] != '\n' {
				word.WriteRune(runes[i])
				inWord = true
			}
		case r == '#' && !inWord:
			endCommand()
			return commands
		case r == '|' || r == ';' || r == '&' || r == '(' || r == ')' || r == '\n':
			endCommand()
		case r == '>' || r == '<':
			endWord()
			target = true
		case r == ' ':
			endWord()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	endCommand()
	return commands
}

// onCluster returns the steps of a page that brings up a Slurm cluster, in a folder of this
// test, and ends it after the test if the page did not.
func onCluster(t *testing.T, steps []shown) []shown {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "slurm") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join(repository, "hack", "slurm.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cluster := filepath.Join(folder, "c")
	t.Cleanup(func() {
		if _, err := os.Stat(cluster); err == nil {
			if out, err := exec.Command(script, "down", cluster).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].run = strings.NewReplacer("/tmp/slurm", cluster, "hack/slurm.sh", script).Replace(steps[i].text)
	}
	return steps
}

// unsteady are the times and the user's name in what commands print of a cluster.
var unsteady = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?|, [0-9.]+m?s$|"user":"[^"]+"`)

// runPage runs the commands of a page in one shell, one after the other. Unless
// it compares, what is printed does not matter, but exit codes do.
func runPage(t *testing.T, page *markdown, steps []shown, home string, compare bool) {
	folder := t.TempDir()
	// The files of docs/example are there as in the repository, and at hand.
	// Results are there for pages that start from measurements.
	example, results := os.DirFS(filepath.Join(repository, "docs", "example")), os.DirFS(filepath.Join(repository, "docs", "results"))
	if err := errors.Join(os.CopyFS(folder, example), os.CopyFS(filepath.Join(folder, "docs", "example"), example),
		os.CopyFS(filepath.Join(folder, "docs", "results"), results)); err != nil {
		t.Fatal(err)
	}
	const mark = "--8<-- "
	var script strings.Builder
	script.WriteString("status=0\n")
	for i, step := range steps {
		// The command sees the exit code of the one before it.
		fmt.Fprintf(&script, "(exit $status)\n%s\nstatus=$?\nprintf '\\n%s%d %%d\\n' $status\n", cmp.Or(step.run, step.text), mark, i)
	}
	limit := processtest.Patience
	if os.Getenv(docsNeeds) != "" {
		limit = 20 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", script.String())
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), processtest.MarkOf(t), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "BANDMATE_CONFIG=", "BANDMATE_STORE="+filepath.Join(folder, "docs", "example", "store"), "LC_ALL=C.UTF-8", "NO_COLOR=", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = processtest.Patience
	out := &processtest.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	// The exit code is that of the last command, which is checked below.
	_ = cmd.Run()
	rest := strings.ReplaceAll(out.String(), folder, "~")
	var replaced [][]string
	for i, step := range steps {
		printed, after, ok := strings.Cut(rest, fmt.Sprintf("\n%s%d ", mark, i))
		if !ok {
			t.Fatalf("%s: %q did not end: %s", step.place(), step.text, rest)
		}
		code, after, _ := strings.Cut(after, "\n")
		rest = after
		// A machine may be one that probes cannot tell anything of.
		notHere := !compare && code == "4" && strings.Contains(printed, "not measurable here: source probe: inconclusive here")
		if code != "0" && !notHere && (i+1 == len(steps) || !strings.HasPrefix(steps[i+1].text, "echo $?")) {
			t.Errorf("%s: %q: exit code %s, and no echo $? after it: %s", step.place(), step.text, code, printed)
		}
		if !compare {
			t.Logf("%-24s exit code %-3s %s", step.place(), code, step.text)
		}
		lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
		replaced = append(replaced, lines)
		if want := step.output(); compare && !*updateDocs && len(want) > 0 && !matches(want, lines) && !(step.run != "" && matches(steady(want), steady(lines))) {
			t.Errorf("%s: %q prints\n%s\nand the page shows\n%s\n(go test ./cmd/bandmate -run TestDocumentation -update-docs writes it there)",
				step.place(), step.text, strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	}
	if *updateDocs && !t.Failed() {
		page.update(t, steps, replaced)
	}
}

// matches compares lines; a line … stands for any number of them, and blanks at
// the ends of lines do not count.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == elided {
		for i := range len(got) + 1 {
			if matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && strings.TrimRight(want[0], " ") == strings.TrimRight(got[0], " ") && matches(want[1:], got[1:])
}

// steady returns lines without what differs between two runs on a cluster.
func steady(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = unsteady.ReplaceAllString(line, "")
	}
	return all
}

// update writes what was printed below the commands that show some output, but
// for those that leave out a part of it.
func (m *markdown) update(t *testing.T, steps []shown, printed [][]string) {
	t.Helper()
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(steps[b].line, steps[a].line) })
	for _, i := range order {
		step, want := steps[i], steps[i].output()
		if len(want) == 0 || matches(want, printed[i]) || step.run != "" && matches(steady(want), steady(printed[i])) {
			continue
		}
		if slices.ContainsFunc(want, func(line string) bool { return strings.TrimSpace(line) == elided }) {
			t.Errorf("%s: %q prints something else, of which the page leaves out a part: mend it by hand\n%s", step.place(), step.text, strings.Join(printed[i], "\n"))
			continue
		}
		indent := m.lines[step.line][:len(m.lines[step.line])-len(strings.TrimLeft(m.lines[step.line], " "))]
		var lines []string
		for _, line := range printed[i] {
			lines = append(lines, strings.TrimRight(indent+line, " "))
		}
		first := step.line + 1 + strings.Count(step.text, "\n")
		m.lines = slices.Replace(m.lines, first, first+len(want), lines...)
	}
	if err := os.WriteFile(filepath.Join(repository, m.path), []byte(strings.Join(m.lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestShellWords(t *testing.T) {
	got := shellWords(`A=b bandmate x "y z" -o=1 > f.txt | jq '.a|.b' && cd q # bandmate no`)
	want := [][]string{{"A=b", "bandmate", "x", "y z", "-o=1"}, {"jq", ".a|.b"}, {"cd", "q"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if calls := bandmateCalls("go run ./cmd/bandmate demo; sudo bandmate doctor; kubectl bandmate explain p; eval bandmate"); fmt.Sprint(calls) != "[[demo] [doctor] [explain p]]" {
		t.Errorf("calls are %q", calls)
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		same      bool
	}{
		{"a", "a ", true},
		{"a", "a\nb", false},
		{"a\n…", "a\nb\nc", true},
		{"…\nc", "a\nb\nc", true},
		{"a\n…\nc", "a\nc", true},
		{"a\n…\nd", "a\nc", false},
	} {
		if got := matches(strings.Split(tt.want, "\n"), strings.Split(tt.got, "\n")); got != tt.same {
			t.Errorf("%q beside %q: %v", tt.want, tt.got, got)
		}
	}
}
