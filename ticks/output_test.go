package ticks

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

func linesOf(pattern string, pieces ...string) *Lines {
	l := &Lines{Pattern: regexp.MustCompile(pattern)}
	for _, p := range pieces {
		_, _ = l.Write([]byte(p))
	}
	return l
}

func TestOutput(t *testing.T) {
	run := prepare(t, Output{regexp.MustCompile(`^step (\d+)`)})
	c := open(t, run, os.Getpid())
	for _, step := range []struct {
		text string
		want float64
	}{{"loading\n", 0}, {"step 1", 0}, {"0\n", 10}, {"step 30\r", 30}, {"done\n", 30}} {
		if _, err := run.Output.Write([]byte(step.text)); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, step.want, nil)
	}
	_, _ = run.Output.Write([]byte("step 2\n"))
	if _, err := c.Read(); !errors.Is(err, ErrWentBack) {
		t.Errorf("from 30 to 2: %v", err)
	}
}

func TestUnmatched(t *testing.T) {
	err := linesOf("^step", "loading\n", "ready\xff\n", strings.Repeat("z", 500)+"\n").Unmatched("./solver").Error()
	for _, want := range []string{`"^step"`, `"./solver"`, "loading", "ready"} {
		if !strings.Contains(err, want) {
			t.Errorf("%s: lacks %s", err, want)
		}
	}
	if len(err) > 500 {
		t.Errorf("quotes too much: %s", err)
	}
	if err := linesOf("^step").Unmatched("./solver").Error(); !strings.Contains(err, "wrote nothing") {
		t.Error(err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("step 1\nstep 2\r\n"), 3)
	f.Add([]byte("step 1e999\nstep -5\nstep nan"), 1)
	pattern := regexp.MustCompile(`step (\S+)|tick`)
	f.Fuzz(func(t *testing.T, output []byte, cut int) {
		whole, parts := &Lines{Pattern: pattern}, &Lines{Pattern: pattern}
		_, _ = whole.Write(output)
		if len(output) > 0 {
			cut = max(cut%len(output), 0)
			_, _ = parts.Write(output[:cut])
		} else {
			cut = 0
		}
		_, _ = parts.Write(output[cut:])
		if whole.count != parts.count || !bytes.Equal(whole.line, parts.line) {
			t.Errorf("cut at %d: %v, whole %v", cut, parts.count, whole.count)
		}
		if whole.count != whole.count {
			t.Error("the count is not a number")
		}
	})
}
