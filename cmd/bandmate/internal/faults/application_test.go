package faults_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// A program may be noisy, and depend on its environment, its folder and an
// empty standard input: it finds all as if it had been started by hand.
func TestApplicationIsAtHome(t *testing.T) {
	requires.TwoCPUs(t)
	store, dir := processtest.StoreWith(t), t.TempDir()
	script := filepath.Join(dir, "app.sh")
	processtest.WriteFile(t, script, `
[ "$KIND" = noisy ] || { echo "no environment" >&2; exit 9; }
[ "$PWD" = "`+dir+`" ] || { echo "in $PWD" >&2; exit 9; }
[ -z "$(cat)" ] || { echo "something to read" >&2; exit 9; }
[ -t 0 ] && exit 9
(exec 3</dev/tty) 2>/dev/null && exit 9
head -c 2000000 /dev/zero | tr '\0' x
head -c 2000000 /dev/zero | tr '\0' y >&2
setsid sleep 0.01
exec >&- 
sleep 0.03
echo run >> runs
`)
	p := processtest.Prepare(t, "bandmate", onboardArgs(store, "--iterations", "2", "--", "sh", script)...)
	p.Cmd.Dir, p.Cmd.Env = dir, append(p.Cmd.Env, "KIND=noisy")
	s := processtest.OnTerminal(p)
	s.Press("nobody reads this\r")
	p.Wait()
	p.WantNobody()
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.Raw.String())
	}
	if runs := strings.Count(processtest.ReadFile(t, filepath.Join(dir, "runs")), "run"); runs < 2 || runs%2 != 0 {
		t.Errorf("%d runs, want two for each sample", runs)
	}
	if strings.Contains(s.Raw.String(), "xxx") || strings.Contains(s.Raw.String(), "yyy") {
		t.Error("the application's output is shown")
	}
}

func TestApplicationOutputIsShown(t *testing.T) {
	requires.TwoCPUs(t)
	store := processtest.StoreWith(t)
	p := processtest.Bandmate(t, onboardArgs(store, "--show-output", "--", "sh", "-c", "echo out; echo err >&2; exit 3")...)
	p.WantExit(1, "out\nerr\n", "exit status 3")
}

// How a program fails is told, once, with what it said last; nothing of it
// stays, and no samples of it.
func TestApplicationFails(t *testing.T) {
	requires.TwoCPUs(t)
	dir := t.TempDir()
	for _, test := range []struct {
		name, script string
		args         []string
		want         []string
	}{
		{"exit code", "echo first >&2; echo last words >&2; exit 42", nil, []string{"exit status 42", "last words"}},
		{"signal", "kill -SEGV $$", nil, []string{"segmentation fault"}},
		{"core dump", "ulimit -c unlimited; kill -ABRT $$", nil, []string{"signal: aborted"}},
		{"for ever, deaf to SIGTERM", "trap '' TERM; sleep 300 & sleep 300; sleep 300", []string{"--timeout", "100ms"}, []string{"still running after 100ms", "--timeout"}},
		{"daemon", "setsid sh -c 'setsid sleep 300 & sleep 300' & sleep 0.05", nil, []string{"running, which were stopped", "foreground"}},
		{"daemon without an environment", "env -i setsid sleep 300 & sleep 0.05", nil, []string{"1 process(es) running", "foreground"}},
		{"reads a number", "read n && exit 0; echo nothing to read >&2; exit 5", nil, []string{"exit status 5", "nothing to read"}},
		{"acts on the terminal", `printf '\033[2J\033]0;title\007\342\200\256evil' >&2; exit 6`, nil, []string{"exit status 6", "evil"}},
		{"no newline at the end, and much of it", "head -c 100000 /dev/zero | tr '\\0' z >&2; exit 7", nil, []string{"exit status 7", "zzz"}},
		{"fails later", `n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; sleep 0.03; [ $n -lt 2 ] || { echo "run $n" >&2; exit 8; }`, nil, []string{"exit status 8", "run 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name != "fails later" {
				t.Parallel() // nothing is measured
			}
			store := processtest.StoreWith(t)
			args := append(test.args, "--", "sh", "-c", test.script)
			p := processtest.Prepare(t, "bandmate", onboardArgs(store, args...)...)
			p.Cmd.Dir = dir
			p.Start()
			p.WantExit(1, test.want...)
			p.WantNobody()
			wantWholeStore(t, store)
			if text := p.Stderr.String(); strings.ContainsAny(text, "\x1b\x07\u202e") {
				t.Errorf("it reaches the terminal: %q", text)
			}
			if len(p.Stderr.String()) > 6000 {
				t.Errorf("%d bytes of an error", len(p.Stderr.String()))
			}
		})
	}
}

// With --iterations a short program can be timed; without, the error says so.
func TestApplicationIsTooShort(t *testing.T) {
	requires.TwoCPUs(t)
	store := processtest.StoreWith(t)
	// On a busy machine even this may take long now and then.
	p := processtest.Bandmate(t, onboardArgs(store, "--", "true")...)
	for p.Wait(); p.Cmd.ProcessState.Success(); p.Wait() {
		store = processtest.StoreWith(t)
		p = processtest.Bandmate(t, onboardArgs(store, "--", "true")...)
	}
	p.WantExit(1, "too short to time", "--iterations ")
	var iterations int
	text := p.Stderr.String()
	if _, err := fmt.Sscanf(text[strings.Index(text, "--iterations ")+len("--iterations "):], "%d", &iterations); err != nil || iterations < 2 {
		t.Errorf("%q proposes %d iterations: %v", text, iterations, err)
	}
	wantWholeStore(t, store)
}
