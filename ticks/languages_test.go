package ticks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/internal/requires"
)

// example returns the code of a language in the guide.
func example(t testing.TB, language string) string {
	t.Helper()
	guide, err := os.ReadFile("../docs/guides/progress.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(guide), "```"+language+"\n")
	code, _, closed := strings.Cut(code, "```")
	if !found || !closed {
		t.Fatalf("the guide has no example in %s", language)
	}
	return code
}

// The examples of the guide count what they say, with a page and without one.
func TestGuide(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		language, compiler string
		commands           [][]string
	}{
		{"c", "gcc", [][]string{{"gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Iprogress", "-o", filepath.Join(dir, "c.out"), filepath.Join(dir, "example.c")}, {filepath.Join(dir, "c.out")}}},
		{"c", "g++", [][]string{{"g++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Iprogress", "-x", "c++", "-o", filepath.Join(dir, "cc.out"), filepath.Join(dir, "example.c")}, {filepath.Join(dir, "cc.out")}}},
		{"python", "python3", [][]string{{"python3", filepath.Join(dir, "example.python")}}},
	} {
		t.Run(c.compiler, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler); err != nil {
				requires.Unmet(t, "needs %s: %v", c.compiler, err)
			}
			write(t, filepath.Join(dir, "example."+c.language), example(t, c.language))
			run := prepare(t, Page{Dir: dir})
			counter := open(t, run, os.Getpid())
			for _, environment := range [][]string{run.Env, {"BANDMATE_PROGRESS=/nonexistent"}, nil} {
				for _, arguments := range c.commands {
					cmd := exec.Command(arguments[0], arguments[1:]...)
					cmd.Env = append(os.Environ(), environment...)
					// Without the variable or the file the program counts nothing.
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v: %v\n%s", arguments, err, out)
					}
				}
				wantCount(t, counter, 1000, nil)
			}
		})
	}
}
