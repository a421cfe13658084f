package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/interferer"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	testscript.Main(m, map[string]func(){"bandmate": main})
}

// TestScripts runs the command line as a user does: output, standard error,
// exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("BANDMATE_STORE", filepath.Join(env.WorkDir, "store"))
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cpus2":
				return runtime.NumCPU() >= 2, nil
			case "root":
				return os.Getuid() == 0, nil
			}
			return false, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"alone": alone,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE CMD ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		text := err.Error()
		got = strings.TrimPrefix(text, "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// alone checks that no process of this test binary is left a second later.
func alone(ts *testscript.TestScript, _ bool, _ []string) {
	self := filepath.Join(ts.Getenv("WORK"), "")
	deadline := time.Now().Add(2 * time.Second)
	for {
		left := leftBehind(self, ts.Getenv("PATH"))
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// leftBehind lists processes whose working folder is the script's.
func leftBehind(work, _ string) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var left []string
	for _, e := range entries {
		folder, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		if err != nil || folder != work {
			continue
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && len(line) > 0 {
			left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}
